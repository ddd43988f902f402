/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_ORDER_H
#define RLD_CLUSTER_ORDER_H

/*
 * What every host of a cluster is to do once: forget what a key has used, set or lift a ban, an
 * exemption, or a limit of one key for a time. In the store it is sealed; of two that concern the
 * same thing the later one alone is kept.
 *
 *	verb:1 | match:1 | rule:1 | reason:1 | key:2 | author:4 | until:8 |
 *	bytes of rule, reason and key | of an override limit:1 | capacity:4
 *
 * Numbers are the lengths of these, and come with the lowest byte first.
 */

#include <rl_admin.h>
#include <stdbool.h>

enum order_verb {
	ORDER_RESET, /* of a prefix without a byte: every key */
	ORDER_BAN,
	ORDER_ALLOW,
	ORDER_UNBAN,
	ORDER_OVERRIDE, /* of a key, under a rule */
	ORDER_VERBS
};

struct order {
	enum order_verb verb;
	enum rl_match match;
	char rule[RL_NAME_MAX + 1]; /* "": every rule */
	char reason[RL_REASON_MAX + 1];
	size_t reason_len, key_len;
	uint64_t until_ns; /* of what is not lifted */
	uint32_t author;
	uint32_t capacity; /* of an override; 0: it is lifted */
	unsigned limit;    /* of the rule, from 0 */
	char key[RL_KEY_MAX];
};

#define ORDER_MAX (18 + RL_NAME_MAX + RL_REASON_MAX + RL_KEY_MAX + 5)

/* Returns how many bytes. */
size_t order_write(const struct order *o, unsigned char to[static ORDER_MAX]);

/* False: it is none. */
bool order_read(const unsigned char *bytes, size_t size, struct order *o);

/*
 * Of an order as it is written, what it concerns: orders with the same replace one another. Returns
 * how many bytes.
 */
size_t order_subject(const struct order *o, unsigned char to[static ORDER_MAX]);

#endif
