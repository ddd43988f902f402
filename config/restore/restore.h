/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_RESTORE_H
#define CONFIG_RESTORE_H

/*
 * To charge again what a file tells of a counter, in a segment that may be another than it was of.
 */

#include <rl_admin.h>

/* A key, whole. */
struct restore_key {
	const void *bytes;
	size_t len;
};

/*
 * The limit of the rule that carries a counter on: the one of `index`, or wherever one of that
 * shape is now. -1: there is none.
 */
int restore_find_limit(const struct rl_rule_info *rule, unsigned index,
                       const struct rl_limit *shape);

/* How long a sub-bucket of it is. */
uint64_t restore_bucket_ns(const struct rl_limit *limit);

/* When a charge has left its limit for good. */
uint64_t restore_end_ns(const struct rl_limit *limit, const struct rl_charge_entry *entry);

/*
 * Charge it; one of the future would hold the key there, and counts as of now. As rl_restore_at().
 */
int restore_charge(struct rl *rl, int rule, unsigned limit, const struct restore_key *key,
                   const struct rl_charge_entry *entry, uint64_t now_ns);

/*
 * Count on in the counter by key, beside what was counted since; whose lifetime has begun anew
 * keeps it. The space is made if need be. `lifetime_ns` is what is left of it, or RL_NEVER_NS. 0 or
 * more, or -errno.
 */
int restore_count(struct rl *rl, const char *space, const struct restore_key *key, uint64_t value,
                  uint64_t lifetime_ns, uint64_t now_ns);

#endif
