/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SHARE_H
#define CONFIG_SHARE_H

/*
 * Who takes the table: the share of each rule, and of the largest networks, in the slots that are
 * used.
 *
 * It is a sample: the first SHARE_SLOTS slots, or all of a smaller table. A keyed hash gives keys
 * their slots, so any part stands for the whole; of a half of the table, the standard error is a
 * half of one per cent. It takes some 2 ms, however large the table is.
 */

#include <rl_admin.h>
#include <stddef.h>

#define SHARE_SLOTS 8192
#define SHARE_NETWORK_TEXT 64

struct share_rule {
	int rule; /* its handle */
	uint64_t slots;
};

/* The largest network of that many bits; `keys` is 0 if there is none. */
struct share_network {
	unsigned bits;
	int is_v4;
	uint64_t keys;
	char text[SHARE_NETWORK_TEXT]; /* "192.0.2.0/24" */
};

/* A network that one owner has, and the one around it. */
enum share_width {
	SHARE_V4_24,
	SHARE_V4_16,
	SHARE_V6_48,
	SHARE_V6_32,
	SHARE_WIDTHS
};

struct shares {
	uint64_t used;      /* slots of the sample */
	uint64_t addresses; /* of them, those whose key is an address or a network */
	struct share_rule *rules;
	size_t rule_count;
	struct share_network networks[SHARE_WIDTHS];
};

/* Take a sample. 0, and it is to be freed; or -ENOMEM. */
int shares_take(struct rl *rl, uint64_t now_ns, struct shares *shares);
void shares_free(struct shares *shares);

/* In per cent, rounded down; of nothing, 0. */
unsigned share_percent(uint64_t part, uint64_t whole);

/*
 * Of the networks that have more than `percent` of `whole`, the largest one: a narrow one if there
 * is any, for to ban it concerns the fewest others. NULL if there is none.
 */
const struct share_network *shares_network(const struct shares *shares, uint64_t whole,
                                           unsigned percent);

/* The rule that has the most, if it has more than `percent` of what is used. NULL if none has. */
const struct share_rule *shares_rule(const struct shares *shares, unsigned percent);

#endif
