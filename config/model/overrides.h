/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_OVERRIDES_H
#define CONFIG_OVERRIDES_H

/* Limits of some keys: the "overrides" of a rule, and "keys" at the top, which come to the same. */

#include "model/config.h"
#include "model/limit.h"
#include "read/reader.h"

enum override_id {
	OVERRIDE_CAPACITY = LIMIT_IDS,
	OVERRIDE_BANNED,
	OVERRIDE_UNLIMITED,
	OVERRIDE_EXACT,
	OVERRIDE_IDS
};

extern const struct field verdict_fields[]; /* banned, unlimited, exact */

/* Overrides of a rule that is being read. */
struct override_list {
	struct rl_override *at;
	uint32_t *tokens; /* where each stands */
	size_t count, room;
};

/* Room for all members of `map`; false if there is no memory, which is reported. */
bool override_room(struct reader *reader, struct override_list *list, struct node map);

/* Put it last, with the member's name as its pattern, or as a key if `is_exact`. False if that
 * cannot be one. */
bool override_add(struct reader *reader, struct override_list *list, const char *name,
                  uint32_t token, bool is_exact, struct rl_override *override);

/* Is the member's name a key, whatever it looks like? */
bool override_is_exact(const struct value *values);

/* Which of banned and unlimited it is, if any; both is reported. */
enum rl_override_kind override_kind(struct reader *reader, uint32_t token,
                                    const struct value *values);

/* Read a rule's overrides. Its limits are RL_LIMITS_MAX, of which `limit_count` are set: 0 if they
 * are wrong, and then only what does not depend on them is checked. */
void read_overrides(struct reader *reader, struct node map, const struct rl_limit *limits,
                    size_t limit_count, struct override_list *list);

#endif
