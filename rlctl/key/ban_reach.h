/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_REACH_H
#define RLCTL_BAN_REACH_H

/* How many a ban or an exemption of a network or a prefix is about. */

#include "key/ban_order.h"

/* How wide a network may be, in bits of its prefix, and what is said of a wider one. */
struct ban_width {
	unsigned v4, v6;
	const char *above_v4, *above_v6;
};

/* NULL, or what is said of a network that is wider. */
const char *ban_too_wide(const struct rl_pattern *pattern, const struct ban_width *most);

/* The same of one that somebody has to say --yes for: above a /8, or a /32 of IPv6. */
const char *ban_is_wide(const struct rl_pattern *pattern);

/* Live keys: those that the pattern matches under the rule, and all of the rule. */
struct ban_hits {
	uint64_t hit, keys;
};
struct ban_hits ban_hits_count(struct rl *rl, int rule, const struct rl_pattern *pattern);

/*
 * True if it is about few, or the user agrees. Who has many keys denied is asked, for it is mostly
 * a mistake: a wide network, or at a terminal a tenth of the live keys, if that is ten or more: a
 * program that answers an attack bans most of them, and means it. *hit is how many are. False after
 * a message.
 */
bool ban_agreed(const struct context *context, struct rl *rl, const struct ban_order *order,
                const struct rl_pattern *pattern, uint64_t *hit);

#endif
