/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BANS_H
#define RL_BANS_H

/*
 * rl for bans, exemptions and limits of one key for a time. What tells and lists them is in
 * rl_admin.h.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RL_ANY_RULE (-1) /* under every rule */

/* Whose requests: one key, or many. */
enum rl_match {
	RL_MATCH_KEY = 0,    /* exactly these bytes */
	RL_MATCH_PREFIX = 1, /* every key that begins with these bytes; at most RL_PREFIX_MAX */
	RL_MATCH_NETWORK =
		2, /* every key that is an address in it: "192.0.2.0/24", "2001:db8::/48" */
};

struct rl_pattern {
	enum rl_match match;
	const void *key;
	size_t key_len;
};

/*
 * Ban or exempt the keys that the pattern matches, under one rule or RL_ANY_RULE, until `until_ns`
 * on rl_now()'s scale (RL_NEVER_NS: until rl_unban()), kept to the millisecond. It holds from
 * the next decision of every process, needs no counter, and ends by itself. A banned key is denied
 * with RL_BY_BAN, even by a shadow rule, and retry_after_ns is when nothing bans it any more. An
 * exempt key is allowed with RL_BY_EXEMPTION, and not charged. A second call for the same pattern
 * and rule replaces the first.
 *
 * If several match, the first of these holds: the key itself, the longest network, the longest
 * prefix; of equals, the one for the rule before RL_ANY_RULE. Each holds before the
 * configuration's overrides.
 *
 * The segment has room for at least `bans` of them, and mostly more. RL_EBANS: every slot that
 * this pattern may be in is used. Replacing a ban needs no slot.
 *
 * 0, or: -EINVAL no such rule, or not a pattern; RL_EADDRESS not a network; RL_EBANS; -EBUSY other
 * processes keep changing the same words; -EROFS. rl_unban(): 1 lifted, 0 there was none.
 */
int rl_ban(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns);
int rl_allow(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns);
int rl_unban(struct rl *rl, int rule, const struct rl_pattern *pattern);

/*
 * Give one key another capacity of a rule's limit number `limit`, counted from 0, until `until_ns`
 * on rl_now()'s scale, which is rounded up to a second. It holds from the next decision of every
 * process, ends by itself, and goes before what the configuration's overrides say of that limit of
 * the key, a ban or an exemption of theirs with it; bans and exemptions of rl_ban() and rl_allow()
 * go before it. What the key has used stays. A token bucket's burst is the capacity, as under an
 * override of the configuration. Capacity 0 lifts it. A second call for the same key and limit
 * replaces the first. It takes the room of a ban.
 *
 * 0, or: -EINVAL no such rule or limit, no key, RL_NEVER_NS, or a capacity above RL_CAPACITY_MAX;
 * RL_ERING the segment's ring is too short for it; RL_EBANS; -EBUSY; -EROFS. With capacity 0:
 * 1 lifted, 0 there was none.
 */
int rl_override(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
                uint32_t capacity, uint64_t until_ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
