/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NODE_ITEM_H
#define RL_NODE_ITEM_H

#include "rl_node.h"

/* What a request was charged, in an ArrayBuffer that JavaScript keeps and does not look into. */
struct ticket {
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX];
	uint64_t held;
};
_Static_assert(sizeof(struct ticket) <= 1024, "lib/native.js makes them so large");

/*
 * An item as JavaScript passes it: [rule, key, cost, capacity, burst, undelayed], burst and
 * undelayed -1 if they are the rule's. The item points into `key`.
 */
bool read_item(napi_env env, napi_value array, struct key *key, struct rl_item *item);

/* *ticket is NULL where there is none. */
bool call_ticket(struct call *c, size_t arg, struct ticket **ticket);

/* The memory of a Float64Array that has room for so many answers; else NULL and an exception. */
struct answer *call_answer(struct call *c, size_t arg, size_t count);

#endif
