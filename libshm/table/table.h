/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TABLE_H
#define RL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/hash.h"
#include "shared/layout.h"

/* Where the table lies in this process. `buckets` is the validated count. */
struct rl_table {
	struct rl_bucket *bucket;
	uint32_t buckets;
	uint64_t number;     /* 0, or how many tables were before it */
	const uint64_t *now; /* rl_tables.now: which is in force; NULL: this one, always */
};

#define RL_CANDIDATES (2 * RL_BUCKET_SLOTS)
#define RL_BUCKETS_AHEAD 16

/* The candidate slots of a key: two lines of eight, and the bits that name it there. */
struct rl_candidates {
	uint64_t first[2]; /* slot index of each line's first slot */
	uint64_t key;      /* owner and hash bits of its tag */
};

/* A slot as it was seen. */
struct rl_slot {
	uint64_t index;
	uint64_t tag;
};

enum rl_claim {
	RL_CLAIM_FOUND, /* *slot is LIVE, by someone else's doing */
	RL_CLAIM_NEW,   /* *slot is LIVE, by this call's last step: its record is to be written */
	RL_CLAIM_FULL,  /* all 16 slots are used by other keys */
	RL_CLAIM_BUSY,  /* gave up after a bounded number of tries, or the table is left */
};

static inline uint64_t *
rl_table_tag(const struct rl_table *table, uint64_t index)
{
	return &table->bucket[index / RL_BUCKET_SLOTS].tag[index % RL_BUCKET_SLOTS];
}

static inline struct rl_u128 *
rl_table_state(const struct rl_table *table, uint64_t index)
{
	return &table->bucket[index / RL_BUCKET_SLOTS].state[index % RL_BUCKET_SLOTS];
}

/*
 * Has another table taken the place of this one? Whatever was read before may be of a table that is
 * left.
 */
static inline bool
rl_table_is_left(const struct rl_table *t)
{
	return t->now && rl_atomic_load(t->now) >> 1 != t->number;
}

/* Is it in force, and keys are still in the table before it? */
static inline bool
rl_table_is_filling(const struct rl_table *t)
{
	return t->now && rl_atomic_load(t->now) == (t->number << 1 | RL_TABLES_MOVING);
}

/* An even share of [0, buckets) for each value of `bits`, without a division. */
static inline uint32_t
rl_table_bucket(const struct rl_table *t, uint32_t bits)
{
	return (uint32_t)((uint64_t)bits * t->buckets >> 32);
}

/*
 * The bits of a key's hash that its tag has. The product is another for each hash (its factor, 2^64
 * divided by the golden ratio, is odd), and its upper bits depend on all of the hash's.
 */
static inline uint64_t
rl_table_tag_hash(uint64_t hash)
{
	return hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RL_TAG_HASH_BITS);
}

/*
 * Of a key's hash under its limit, whose rl_tag_owner() is `owner`: each half says one bucket, and
 * all of it the bits of the tag. Part of every decision, as is finding: inline.
 */
static inline __attribute__((always_inline)) struct rl_candidates
rl_table_candidates(const struct rl_table *t, uint64_t owner, uint64_t hash)
{
	uint32_t one = rl_table_bucket(t, (uint32_t)hash);
	uint32_t two = rl_table_bucket(t, (uint32_t)(hash >> 32));

	if (two == one)
		two = one + 1 < t->buckets ? one + 1 : 0;
	return (struct rl_candidates){
		.first = {(uint64_t)one * RL_BUCKET_SLOTS, (uint64_t)two * RL_BUCKET_SLOTS},
		.key = owner | rl_table_tag_hash(hash),
	};
}

static inline uint64_t
rl_table_candidate(const struct rl_candidates *candidates, unsigned i)
{
	return candidates->first[i / RL_BUCKET_SLOTS] + i % RL_BUCKET_SLOTS;
}

/* Which of them a slot is. */
static inline unsigned
rl_table_place(const struct rl_candidates *candidates, uint64_t index)
{
	if (index - candidates->first[0] < RL_BUCKET_SLOTS)
		return (unsigned)(index - candidates->first[0]);
	return RL_BUCKET_SLOTS + (unsigned)(index - candidates->first[1]);
}

/* Always inlined: gcc 12 takes a call of it for one without effects, and drops it. */
static inline __attribute__((always_inline)) void
rl_bucket_prefetch(const struct rl_bucket *bucket)
{
	__builtin_prefetch(bucket->tag);
	__builtin_prefetch(bucket->state);
	__builtin_prefetch(bucket->state + RL_BUCKET_SLOTS / 2);
}

/*
 * Ask the cache for both buckets, all at once. A third of the keys are in their second: for
 * them, waiting for its states costs more than two lines that others do not need.
 */
static inline __attribute__((always_inline)) void
rl_table_prefetch(const struct rl_table *table, const struct rl_candidates *candidates)
{
	rl_bucket_prefetch(&table->bucket[candidates->first[0] / RL_BUCKET_SLOTS]);
	rl_bucket_prefetch(&table->bucket[candidates->first[1] / RL_BUCKET_SLOTS]);
}

/*
 * For who goes through all slots, at each of them: tags of two buckets stand too far apart for
 * the processor to see what comes. Beyond the table's end nothing is read.
 */
static inline __attribute__((always_inline)) void
rl_table_look_ahead(const struct rl_table *table, uint64_t index)
{
	if (index % RL_BUCKET_SLOTS == 0)
		__builtin_prefetch(table->bucket + index / RL_BUCKET_SLOTS + RL_BUCKETS_AHEAD);
}

/* The tags alone, and one state: for many keys at once, of which each is to take few lines. */
static inline void
rl_table_prefetch_tags(const struct rl_table *table, const struct rl_candidates *candidates)
{
	__builtin_prefetch(rl_table_tag(table, candidates->first[0]));
	__builtin_prefetch(rl_table_tag(table, candidates->first[1]));
}

static inline void
rl_table_prefetch_state(const struct rl_table *table, struct rl_slot slot)
{
	__builtin_prefetch(rl_table_state(table, slot.index), 1);
}

/* The same of one line of eight. */
static inline __attribute__((always_inline)) bool
rl_table_find_in(const struct rl_table *t, uint64_t first, uint64_t key, struct rl_slot *slot)
{
	const uint64_t *tags = rl_table_tag(t, first);

#pragma GCC unroll 8
	for (unsigned i = 0; i < RL_BUCKET_SLOTS; i++) {
		uint64_t tag = rl_atomic_load(&tags[i]);
		if (rl_tag_is(tag, RL_TAG_LIVE, key)) {
			slot->index = first + i;
			slot->tag = tag;
			return true;
		}
	}
	return false;
}

/* The key's LIVE slot. Writes nothing. Part of every decision: inline, and no array stays. */
static inline __attribute__((always_inline)) bool
rl_table_find(const struct rl_table *t, const struct rl_candidates *p, struct rl_slot *slot)
{
	return rl_table_find_in(t, p->first[0], p->key, slot) ||
	       rl_table_find_in(t, p->first[1], p->key, slot);
}

/* Are all 16 slots used by other keys, for all that their tags say? */
bool rl_table_is_crowded(const struct rl_table *table, const struct rl_candidates *candidates);

/* Has the key a slot, or one that is being freed? */
bool rl_table_has(const struct rl_table *table, const struct rl_candidates *candidates);

/* How many slots are in use: of a table that is left, those of keys that have not moved. */
uint64_t rl_table_fill(const struct rl_table *table);

/* The key's LIVE slot, made if need be. */
enum rl_claim rl_table_claim(const struct rl_table *table, const struct rl_candidates *candidates,
                             struct rl_slot *slot);

/*
 * Free a LIVE slot, provided its state still is `seen`: a word that was there while the tag
 * was slot.tag, and is not DEAD. True if it was. A sealed one stays.
 */
bool rl_table_retire(const struct rl_table *table, struct rl_slot slot, struct rl_u128 seen);

/*
 * Of a table that is left. Look for the key's LIVE slot, and see to it that no other one can become
 * LIVE: what is TENT is freed, what is LEAVING settled. -1: look again.
 */
int rl_table_find_left(const struct rl_table *table, const struct rl_candidates *candidates,
                       struct rl_slot *slot);

/*
 * Seal a LIVE slot's state, provided it still is `seen`: from then on nothing changes it. What was
 * zero, for it was an older incarnation's, has all counts zero then.
 */
bool rl_table_seal(const struct rl_table *table, struct rl_slot slot, struct rl_u128 seen,
                   bool is_zero);

/* The last step of a sealed slot: its key is not here any more. True if by this call. */
bool rl_table_mark_moved(const struct rl_table *table, struct rl_slot slot);

/*
 * Begin the next life of a LIVE slot's key, provided its state still is `seen`: nothing of before
 * can be given back to it. The state is then `fresh`, whose slot bits are of no account, and
 * slot->tag is the new one. False: others have changed it, or have begun to count in the new life,
 * or free the slot.
 */
bool rl_table_renew(const struct rl_table *table, struct rl_slot *slot, struct rl_u128 seen,
                    struct rl_u128 fresh);

/*
 * The other steps of a retirement that someone began: of a LIVE slot whose state is DEAD with the
 * tag's gen, or of a LEAVING one. Or free a TENT. True if the slot is free by this call.
 */
bool rl_table_free(const struct rl_table *table, struct rl_slot slot);

/*
 * Buckets that hold `keys` keys, each in the emptier of two, and the other way round. Two hold any
 * 16. With more, chance decides: that a key of those finds its 16 slots used has, for the whole
 * table, at 5 slots for 3 keys a probability of
 *
 *	10 to 1,000 keys   at most 0.00000005 (seen: of 160,000,000 tables 3)
 *	10,000             0.000000001
 *	10,000,000         0.0000009
 *
 * by the differential equations of the shares of buckets that have at least so many keys. With 4
 * slots for 3 keys, a table of 1,000,000 would lose 11 of them.
 */
uint32_t rl_table_buckets_for(uint32_t keys);
uint64_t rl_table_holds(uint32_t buckets);

#endif
