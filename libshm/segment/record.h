/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RECORD_H
#define RL_RECORD_H

/*
 * What is kept of a key for people: cold, written after the claim, outside the protocol. Two
 * writers may meet in one record, and one may die half way: so a keyed hash ties the bytes to
 * the slot's tag, and a reader believes only what hashes right. A torn or stale record is no
 * name, never a wrong one.
 *
 * That keyed hash stands there with the key's own, whole hash added modulo 2. So a reader gets that
 * hash, by which a key is found in a table of another size even if not all of its bytes are kept;
 * and he knows it for right by the 40 bits of it that the tag has.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rl_admin.h"
#include "segment/chance.h"
#include "segment/segment.h"
#include "shared/layout_people.h"

struct rl_record_copy {
	size_t key_len;    /* of the whole key */
	size_t key_kept;   /* how many of its bytes follow */
	uint64_t lengths;  /* as it was read, and so is the next: */
	uint64_t last;     /* for rl_record_denials() */
	uint64_t key_hash; /* the key's, under its limit; 0 of a ban */
	uint64_t hash[2];  /* a cluster's segment: the key under its secret; zeros: not known */
	uint64_t bytes[RL_KEY_MAX / 8 + 1];
};

/* `key_hash` is the one that the slot was found by: rl_table_candidates(). */
void rl_record_write(const struct rl_segment *s, struct rl_slot slot, uint64_t key_hash,
                     const void *key, size_t key_len);

/* The same in a cluster's segment, with what the cluster calls the key; NULL: it is not known. */
void rl_record_write_hashed(const struct rl_segment *s, struct rl_slot slot, uint64_t key_hash,
                            const void *key, size_t key_len, const uint64_t hash[2]);

/*
 * Write what was read of the same key's record elsewhere, its denials and its last request with it.
 */
void rl_record_carry(const struct rl_segment *s, struct rl_slot slot,
                     const struct rl_record_copy *copy);

/*
 * Count a denial of the slot's key, in stages (staged.h): all of them, and those of the current ten
 * seconds. The latter begin anew with the first denial of other ten seconds, of whose number three
 * bits are in the word that counts. `last` has the second of the newest denial, counted or not.
 * Returns whether it is the first in a minute: of processes that race, one is told so.
 *
 * A key that is denied all the time costs two loads here, and a write now and then.
 */
#define RL_RECORD_NEWEST_SHIFT 32     /* in `last`: the second of the newest denial, 0: none */
#define RL_RECORD_RECENT_SHIFT 55     /* in `lengths`: the steps in them */
#define RL_RECORD_OFTEN UINT64_C(160) /* steps, from which on one in 64 is written at most */
#define RL_RECORD_ALL_LAST 3          /* one in 64, for ever */

static inline uint32_t
rl_record_second(uint64_t now_ns)
{
	return (uint32_t)(now_ns / RL_SECOND);
}

/* All that is not decided by the two loads. */
bool rl_record_count_seldom(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns,
                            uint64_t chance);

static inline __attribute__((always_inline)) bool
rl_record_count_denied(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns)
{
	const struct rl_record *r = rl_segment_record(s, slot.index);
	bool is_often =
		rl_atomic_load_relaxed(&r->last) >> RL_RECORD_NEWEST_SHIFT ==
			rl_record_second(now_ns) &&
		rl_atomic_load_relaxed(&r->lengths) >> RL_RECORD_RECENT_SHIFT >= RL_RECORD_OFTEN;
	uint64_t chance = rl_chance(now_ns);

	if (is_often && chance >> (64 - 2 * RL_RECORD_ALL_LAST) != 0)
		return false;
	return rl_record_count_seldom(s, slot, now_ns, chance);
}

/* The denials that were counted. */
struct rl_record_denials {
	uint64_t all;
	uint64_t error;     /* standard error of that; 0: it is exact */
	uint64_t recent;    /* of the newest ten seconds in which it was denied, */
	uint64_t recent_ns; /* if these or those before are now: how long ago they began; at least 1
	                       s */
	uint64_t last_ns;   /* when the second of the newest one began; 0: there was none */
};
void rl_record_denials(const struct rl_record_copy *copy, uint64_t now_ns,
                       struct rl_record_denials *denials);

/*
 * Keep the capacity that a request has brought along, its tier: what rl_item.capacity says, 1 to
 * RL_CAPACITY_MAX. A request of the same tier as the last one writes nothing.
 *
 * Nothing ties this word to the slot's tag. A process may store it late, after the slot has become
 * another key's, and a slow claimer may clear what a faster one has stored. So the word may be
 * another key's, or missing, until the key's next request with a tier. It decides about no request.
 * Tools may show the wrong limit by it.
 */
void rl_record_keep_tier(const struct rl_segment *s, struct rl_slot slot, uint32_t capacity);

/* The capacity that was kept; 0: none. */
uint32_t rl_record_tier(const struct rl_segment *s, uint64_t slot);

/*
 * Of a record that may be no name: not less than what rl_record_denials() says, and the bytes that
 * it would read, with room for RL_KEY_MAX; 0 of them if it is none.
 */
uint64_t rl_record_denied_most(const struct rl_segment *s, uint64_t slot);
size_t rl_record_key(const struct rl_segment *s, uint64_t slot, void *key, size_t *key_len);

/* False when the record does not belong to the slot as seen. */
bool rl_record_read(const struct rl_segment *s, struct rl_slot slot, struct rl_record_copy *copy);

#endif
