/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_KEYS_H
#define RLD_CLUSTER_KEYS_H

/*
 * The keys that this daemon borrows for: found by their hash, looked at when they are due.
 *
 * A key has a number, which stays while the array grows. A wheel of ticks has each key in the tick
 * in which it is due, or in the last one before.
 *
 * By the hash that the store knows it by a key is found through a table of hints, one number a
 * place: of two keys at the same place the last one is found. What hangs on it may be lost.
 */

#include <rl_cluster.h>
#include <stddef.h>

#include "policy.h"

#define KEYS_NONE UINT32_MAX
#define KEYS_TICK_NS RL_MILLISECOND
#define KEYS_TICKS 1024u

/*
 * What the store knows an incarnation by: where it was seen first. A key that moves to another
 * table takes its name along.
 */
struct key_name {
	uint64_t table, slot;
	uint32_t number; /* rl_share.number */
};

struct key {
	struct rl_incarnation of;
	struct key_name name;
	struct policy_key policy;
	uint64_t lease_ns; /* the share's end, by the segment's clock */
	uint64_t due_ns, seq;
	uint32_t shared; /* what its rule gave it at the last look */
	uint32_t share;  /* as it is counted, under this rule */
	int rule;
	uint32_t next, prev;     /* of its tick */
	uint32_t tick;           /* KEYS_NONE: of none */
	uint64_t hash[2];        /* rl_share.hash; 0: it was never asked for */
	bool is_called, is_room; /* policy_seen, since the last look */
	bool is_dry;             /* as the segment was told */
};

struct keys {
	struct key *of;
	uint32_t count, room; /* numbers up to count are in use, or free */
	uint32_t free;        /* the first that is free, linked by `next` */
	uint32_t used;
	uint32_t *slots; /* by hash: number or KEYS_NONE */
	uint32_t slot_room;
	uint32_t *hints; /* by the store's hash, as many: number or KEYS_NONE */
	uint32_t wheel[KEYS_TICKS];
	uint64_t at_tick; /* all before it were looked at */
};

bool keys_open(struct keys *k, uint64_t now_ns);
void keys_close(struct keys *k);

/* KEYS_NONE: there is none. */
uint32_t keys_find(const struct keys *k, uint64_t key_hash);

/* Find, or add one that is all 0. KEYS_NONE without memory. */
uint32_t keys_claim(struct keys *k, const struct rl_incarnation *of);

/* The store knows it by that hash. */
void keys_name(struct keys *k, uint32_t number, const uint64_t hash[2]);

/* Whom it knows by it, or KEYS_NONE. */
uint32_t keys_named(const struct keys *k, const uint64_t hash[2]);

void keys_remove(struct keys *k, uint32_t number);

/* From now on due then. */
void keys_schedule(struct keys *k, uint32_t number, uint64_t due_ns);

/* One that is due now, taken out of the wheel; KEYS_NONE: none is. */
uint32_t keys_next_due(struct keys *k, uint64_t now_ns);

#endif
