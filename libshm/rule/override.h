/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OVERRIDE_H
#define RL_OVERRIDE_H

/*
 * What the configuration says of single keys: a hash table in each bank of it, written once by
 * whoever configures and then only read. Who reads makes sure afterwards that its bank is still
 * in force; until then what it found may be anything, within bounds.
 */

#include "rl_admin.h"
#include "rule/pattern.h"
#include "shared/budget.h"

/* What stands for one pattern. */
struct rl_override_found {
	enum rl_override_kind kind;
	uint32_t capacity[RL_LIMITS_MAX]; /* 0: the limit's own */
};

/* False, too, if the budget ends. */
bool rl_override_find(const struct rl_segment *s, unsigned bank, struct rl_hash hash,
                      struct rl_budget *budget, struct rl_override_found *found);

/* For who configures, and holds the lock. */
void rl_override_clear(const struct rl_segment *s, unsigned bank);

/* How many slots it takes; and false if there are not as many left. */
unsigned rl_override_slots(const struct rl_override *override, unsigned limits);
bool rl_override_put(const struct rl_segment *s, unsigned bank, struct rl_hash hash,
                     const struct rl_override *override, unsigned limits);

#endif
