/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PREFETCH_H
#define RL_PREFETCH_H

/*
 * Units that a process prefetches, for keys that all processes ask for at once: see `prefetch` in
 * rl.h. One CAS of the key's state charges many units; the requests that follow spend them from a
 * store in the process's own memory. No shared word knows of a store: whatever it holds is charged
 * like any other cost, so no limit can admit too much by it, and what a process that is killed
 * held is used up.
 *
 *	                charge n, spend 1
 *	    empty   -------------------------->   n - 1 units   --spend c-->  n - 1 - c units
 *	      ^                                        |
 *	      +---- ended, displaced, given back ------+
 *
 * A unit is spent while all of this holds, else the store is given back:
 *
 *	the request's limit and capacity are those it was charged under. They are of the policy
 *	that is in force, so a changed capacity, a rule that starts anew and a removed one end it;
 *	and whoever asks for units has looked for bans first
 *	the request's sub-bucket is the one it was charged in
 *	the key's slot still has the tag it was charged under: a reset, an eviction or a sweep
 *	moves the tag on before it returns, and before the key has another counter
 *
 * Giving back is a refund: it comes too late once the sub-bucket is closed, or the tag is another,
 * or the key has moved to another table.
 *
 * Threads. An entry has one word that says how many units there are, and in how many fillings. Only
 * who has marked it BUSY changes the rest, and each filling has another stamp; so whoever takes
 * units by a CAS of the word has taken those whose fields were read. Nobody waits: a request that
 * finds the entry BUSY is charged as if there were no store. So a signal handler may decide at any
 * time.
 *
 * Processes. The store is in memory that the kernel empties in a child of fork(2). Where it does
 * not know how, there is no store. A word that was seen before a fork is not what the child has, so
 * a decision that a signal handler forks in the midst of does not take the parent's units along.
 * (What it interrupts in giving back may be given back by both, as with rl_refund().)
 */
#include "decide/part.h"

#define RL_PREFETCH_ENTRIES 64

struct rl_prefetch_entry {
	uint64_t word;                    /* stamp:48 | challenged:1 | busy:1 | 0:2 | units:12 */
	const struct rl_compiled *limit;  /* what they were charged under: */
	const struct rl_segment *segment; /* with the table of then, */
	uint64_t capacity;
	uint64_t epoch;    /* the sub-bucket, */
	uint64_t start_ns; /* and when it began */
	uint64_t slot;
	uint64_t tag;
} __attribute__((aligned(64)));

struct rl_prefetch {
	struct rl_prefetch_entry entry[RL_PREFETCH_ENTRIES];
};

/* An empty store, or NULL: then nothing is prefetched. */
struct rl_prefetch *rl_prefetch_make(void);

/* Forgets what it holds. */
void rl_prefetch_free(struct rl_prefetch *prefetched);

/*
 * Charge a request that nothing bans, of the only limit of its rule: from the store, or so that it
 * is filled. RL_ALLOWED, with *p->result; or RL_AGAIN: it has to be decided without the store.
 */
int rl_prefetch_charge(struct rl_part *p, uint64_t cost);

#endif
