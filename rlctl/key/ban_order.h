/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_ORDER_H
#define RLCTL_BAN_ORDER_H

/* The order of ban and allow, for each of their keys. */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/command.h"

struct ban_order {
	int rule; /* or RL_ANY_RULE */
	bool is_exemption;
	bool is_for_addresses; /* the rule counts addresses alone: nothing else can match */
	bool is_pattern;       /* whatever keys there are, a pattern is meant */
	uint64_t until_ns;
	const char *reason; /* or NULL */
};

#define BAN_LENGTH "1h" /* of a ban or an exemption without --for and --until */

/* When --for or --until end; false after a message. */
bool ban_order_read_end(const struct context *context, uint64_t now_ns, uint64_t *until_ns);

/* --reason, or NULL; false after a message. */
bool ban_order_read_reason(const struct context *context, const char **reason);

/* Read the options; false after a message. */
bool ban_order_read(const struct context *context, struct rl *rl, bool is_exemption,
                    struct ban_order *order);

/* NULL, or what is wrong with a pattern that could never match. */
const char *ban_order_reach(const struct ban_order *order, const struct rl_pattern *pattern);

/*
 * NULL, or what is wrong with a text that is no key's and yet a counted key's name. Clients choose
 * names: one that is called user:* or 0.0.0.0/0 is not to have others banned.
 */
const char *ban_order_doubt(struct rl *rl, const struct ban_order *order, const char *text,
                            size_t len, const struct rl_pattern *pattern);

/* Set it, by this user and now. Returns what rl_ban_set() does. */
int ban_order_set(struct rl *rl, const struct ban_order *order, const struct rl_pattern *pattern);

/* The meaning of an error of that; RL_EBANS with how many there is room for. */
void ban_complain(const struct context *context, struct rl *rl, int error);

#endif
