/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_REACH_H
#define RLCTL_BAN_REACH_H

/* How many a ban or an exemption of a network or a prefix is about. */

#include "key/ban_order.h"

/* Bits of a network's prefix; 0, and false, of what is no network. */
bool ban_network_bits(const struct rl_pattern *pattern, unsigned *bits, bool *is_v6);

/* NULL, or what is wide about it: a network above a /8, or a /32 of IPv6. */
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
