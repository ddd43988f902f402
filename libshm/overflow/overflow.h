/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OVERFLOW_H
#define RL_OVERFLOW_H

#include "algorithm/overflow_word.h"
#include "overflow/sets.h"
#include "segment/view.h"

/* The overflow counter of a key, as it was loaded. */
struct rl_overflow {
	const struct rl_segment *segment;
	const struct rl_compiled *limit;
	struct rl_set set;
	struct rl_u128 *at;
	struct rl_u128 word;  /* what a CAS has to expect */
	struct rl_u128 count; /* a word of limit->overflow: what it counts of the key */
	bool counts;          /* else the word is as if it were zero */
	uint32_t lanes;       /* the key's, in it */
};

/*
 * Where a key is counted: in the overflow counter of that index, modulo as many as its limit has,
 * by these lanes.
 */
#define RL_OVERFLOW_INDEX_BITS (32 - RL_OVERFLOW_LANES_BITS)
_Static_assert(RL_SETS_COUNTERS_MAX == UINT64_C(1) << RL_OVERFLOW_INDEX_BITS, "for all of a run");

static inline uint32_t
rl_overflow_place(uint32_t index, uint32_t lanes)
{
	return (index & ((1U << RL_OVERFLOW_INDEX_BITS) - 1)) | lanes << RL_OVERFLOW_INDEX_BITS;
}

/*
 * The place of a key: of a limit with prefixes by `network`, rl_network_key()'s bytes; else by its
 * tag's bits, as its lanes are in any case.
 */
uint32_t rl_overflow_place_of(const struct rl_segment *s, const struct rl_compiled *limit,
                              uint64_t tag, const unsigned char *network);

/* The same of a key that has a slot. False: its name is not known. */
bool rl_overflow_place_of_slot(const struct rl_segment *s, const struct rl_compiled *limit,
                               struct rl_slot slot, uint32_t *place);

/*
 * Load an overflow counter of the limit. False: the limit has no overflow counters now, or it
 * changes too fast to be read.
 */
bool rl_overflow_load(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
                      struct rl_overflow *overflow);

/*
 * The same, and overflow counters are taken if need be. 0; -ENOSPC there are none for it; -EAGAIN.
 */
int rl_overflow_take(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t place,
                     uint64_t now_ns, struct rl_overflow *overflow);

/* It as a limiter sees it. */
struct rl_view rl_overflow_view(const struct rl_overflow *overflow);

/* Store what a charge has made of the count. False: others were quicker. */
bool rl_overflow_charge(const struct rl_overflow *overflow, struct rl_u128 count);

/*
 * Was the key given a slot since the overflow counter was loaded and charged? Then the charge does
 * not stand for its request. To be asked after rl_overflow_charge().
 */
bool rl_overflow_was_left(const struct rl_overflow *overflow,
                          const struct rl_candidates *candidates);

/*
 * Fold a slot's count into its overflow counter, so that the slot can be freed if its state still
 * is view->word. The limit has overflow counters, and the view is not zero. False: its name or a
 * set is not to be had, or it changed.
 */
bool rl_overflow_fold(const struct rl_segment *s, const struct rl_compiled *limit,
                      struct rl_slot slot, const struct rl_view *view, uint64_t now_ns);

enum rl_carry {
	RL_CARRY_NOTHING, /* its first charge may be made */
	RL_CARRY_DONE,    /* the slot is to be looked at again */
};

/*
 * A LIVE slot that was never charged, whose tag was seen before: bring what its key has in the
 * overflow counter.
 */
enum rl_carry rl_overflow_carry(const struct rl_segment *s, const struct rl_compiled *limit,
                                uint32_t place, struct rl_slot slot, const struct rl_view *view,
                                uint64_t now_ns);

#endif
