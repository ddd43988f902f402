/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LAYOUT_SLOT_H
#define RL_LAYOUT_SLOT_H

/*
 * A slot is where one key can be: tag, state, ring and record of the same index. Tags and
 * states of a bucket stand side by side, so that a decision reads one place of a table that is
 * larger than the caches, and asks for one translation of an address:
 *
 *	slot     8b     8b+1   ...   8b+7   |  8b        8b+1      ...     8b+7
 *	        +------+------+-----+------+----------+----------+-----+----------+
 *	bucket b| tag  | tag  | ... | tag  |  state   |  state   | ... |  state   |
 *	        +------+------+-----+------+----------+----------+-----+----------+
 *	byte     0      8            56     64         80               176      192
 *
 * Tag (8 bytes), the table's word:
 *
 *	 63  62 61       54 53      44 43         40 39                      0
 *	+------+-----------+----------+-------------+-------------------------+
 *	|status|    gen    |  limit   | incarnation |          hash           |
 *	+------+-----------+----------+-------------+-------------------------+
 *
 *	incarnation: the lowest bits of that of the limit's row. A LIVE tag of another one is left
 *	behind: no key leads there, and whoever meets it may free it.
 *
 *	FREE(g) -> TENT(key,g) -> LIVE(key,g) -> LEAVING(key,g) -> FREE(g+1)
 *
 *	Zeroed memory is FREE(0). LEAVING has the status of FREE, and still its key: see table.c.
 *	MOVED is LIVE's last status in a table that another has taken the place of: move/move.c.
 *
 * State (16 bytes), the window's word, changed by one CAS:
 *
 *	lo   63                         36 35                                 0
 *	    +-----------------------------+-----------------------------------+
 *	    |          cur:28             |       epoch, low 36 bits          |
 *	    +-----------------------------+-----------------------------------+
 *	hi   63           36 35   29 28   22 21         12 11    9  8   7       0
 *	    +---------------+-------+-------+-------------+--------+----+--------+
 *	    |    sum:28     | span:7| jump:7|epoch high:10|serial:3|dead|  gen:8 |
 *	    +---------------+-------+-------+-------------+--------+----+--------+
 *
 *	epoch  index of the current sub-bucket since 1970: 2^46 of the shortest, 156,250 ns,
 *	       outlast the clock's 2^63 ns
 *	cur    what was admitted in it
 *	sum    what was admitted in the closed sub-buckets that still count: at epoch, or if it is
 *	       frozen, at epoch + jump
 *	span   how many sub-buckets before `epoch` the ring holds, at most granularity
 *	jump   0: open; j > 0: cur is final and the next epoch is epoch + j
 *	dead   the slot is being retired
 *	gen    the incarnation of the slot that the rest belongs to; any other means zero
 *	serial counts retirements modulo 7, so that with gen's 256 the same word comes back to
 *	       a slot after 1,792 of them at the earliest; 7, with dead: the word is sealed, and
 *	       nothing changes it any more (move/move.c)
 *
 *	Every algorithm keeps these three where they are; the rest of the word is its own (log.h,
 *	gcra.h, in_flight.h). A limit of a cluster has 16 bits of a share above them, and its
 *	windows keep less of the rest: share.h. Within one gen, epoch never falls, and while it
 *	stands `hi` changes only to freeze or to die; so equal `lo` around a read of `hi` means that
 *	no count was torn.
 *
 * Ring entry (8 bytes), a closed sub-bucket, at index epoch modulo granularity:
 *
 *	 63                  36 35         28 27                             0
 *	+----------------------+-------------+--------------------------------+
 *	|       count:28       |    gen:8    |       epoch, low 28 bits       |
 *	+----------------------+-------------+--------------------------------+
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/atomic.h"

#define RL_BUCKET_SLOTS 8

/* Tag */
#define RL_TAG_HASH_BITS 40
#define RL_TAG_INCARNATION_SHIFT 40
#define RL_TAG_INCARNATIONS 16 /* that tags tell apart */
#define RL_TAG_LIMIT_SHIFT 44
#define RL_TAG_LIMIT_MASK UINT64_C(0x3ff)
#define RL_TAG_GEN_SHIFT 54
#define RL_TAG_GEN_MASK UINT64_C(0xff)
#define RL_TAG_STATUS_SHIFT 62
#define RL_TAG_HASH_MASK ((UINT64_C(1) << RL_TAG_HASH_BITS) - 1)
#define RL_TAG_KEY_MASK ((UINT64_C(1) << RL_TAG_GEN_SHIFT) - 1) /* owner and hash */
#define RL_TAG_OWNER_MASK (RL_TAG_KEY_MASK & ~RL_TAG_HASH_MASK) /* limit and incarnation */

enum rl_tag_status {
	RL_TAG_FREE = 0,
	RL_TAG_TENT = 1,
	RL_TAG_LIVE = 2,
	RL_TAG_MOVED = 3,
};

static inline unsigned
rl_tag_status(uint64_t tag)
{
	return (unsigned)(tag >> RL_TAG_STATUS_SHIFT);
}

static inline uint8_t
rl_tag_gen(uint64_t tag)
{
	return (uint8_t)(tag >> RL_TAG_GEN_SHIFT & RL_TAG_GEN_MASK);
}

static inline int
rl_tag_limit(uint64_t tag)
{
	return (int)(tag >> RL_TAG_LIMIT_SHIFT & RL_TAG_LIMIT_MASK);
}

/* The bits that the tags of all keys of one incarnation of a limit share. */
static inline uint64_t
rl_tag_owner(int limit, uint64_t incarnation)
{
	return (uint64_t)limit << RL_TAG_LIMIT_SHIFT | incarnation % RL_TAG_INCARNATIONS
	                                                       << RL_TAG_INCARNATION_SHIFT;
}

/* Free once its state was read again. (A key that is all zeros has no such step.) */
static inline bool
rl_tag_is_leaving(uint64_t tag)
{
	return rl_tag_status(tag) == RL_TAG_FREE && (tag & RL_TAG_KEY_MASK) != 0;
}

static inline uint64_t
rl_tag_make(enum rl_tag_status status, uint8_t gen, uint64_t key)
{
	return (uint64_t)status << RL_TAG_STATUS_SHIFT | (uint64_t)gen << RL_TAG_GEN_SHIFT | key;
}

/* Is it that, of any incarnation? */
static inline bool
rl_tag_is(uint64_t tag, enum rl_tag_status status, uint64_t key)
{
	return (tag & ~(RL_TAG_GEN_MASK << RL_TAG_GEN_SHIFT)) == rl_tag_make(status, 0, key);
}

/* Free to be claimed. */
static inline bool
rl_tag_is_free(uint64_t tag)
{
	return rl_tag_is(tag, RL_TAG_FREE, 0);
}

/* In a window's state word, lo holds the low bits of epoch here and cur above them. */
#define RL_STATE_EPOCH_BITS 36
#define RL_STATE_EPOCH_MASK ((UINT64_C(1) << RL_STATE_EPOCH_BITS) - 1)

/* The bits of a state word that belong to the slot, whatever the algorithm. */
#define RL_STATE_GEN_MASK UINT64_C(0xff)
#define RL_STATE_DEAD (UINT64_C(1) << 8)
#define RL_STATE_SERIAL_SHIFT 9
#define RL_STATE_SERIAL_MASK (UINT64_C(7) << RL_STATE_SERIAL_SHIFT)
#define RL_STATE_SERIALS 7
#define RL_STATE_SEAL (RL_STATE_DEAD | RL_STATE_SERIAL_MASK)
#define RL_STATE_SLOT_MASK UINT64_C(0xfff) /* all of them */

/* Above them, of a limit of a cluster whatever its algorithm: see share.h. */
#define RL_STATE_SHARE_SHIFT 12
#define RL_STATE_SHARE_MASK (UINT64_C(0xffff) << RL_STATE_SHARE_SHIFT)

/* The slot's bits of a word that is charged in incarnation `gen`, after `before`. */
static inline uint64_t
rl_state_slot_bits(struct rl_u128 before, uint8_t gen)
{
	return (before.hi & RL_STATE_SERIAL_MASK) | gen;
}

/* `state` marked as being retired from incarnation `gen`. */
static inline struct rl_u128
rl_state_retired(struct rl_u128 state, uint8_t gen)
{
	uint64_t serial = (state.hi & RL_STATE_SERIAL_MASK) >> RL_STATE_SERIAL_SHIFT;

	state.hi &= ~(RL_STATE_SERIAL_MASK | RL_STATE_GEN_MASK);
	state.hi |= (serial + 1) % RL_STATE_SERIALS << RL_STATE_SERIAL_SHIFT | RL_STATE_DEAD | gen;
	return state;
}

static inline uint8_t
rl_state_gen(struct rl_u128 state)
{
	return (uint8_t)(state.hi & RL_STATE_GEN_MASK);
}

static inline bool
rl_state_is_sealed(struct rl_u128 state)
{
	return (state.hi & RL_STATE_SEAL) == RL_STATE_SEAL;
}

static inline bool
rl_state_is_dead(struct rl_u128 state)
{
	return (state.hi & RL_STATE_DEAD) != 0 && !rl_state_is_sealed(state);
}

/* Was it retired from incarnation `gen`? Then it stays so until the tag is of another. */
static inline bool
rl_state_is_retired(struct rl_u128 state, uint8_t gen)
{
	return rl_state_is_dead(state) && rl_state_gen(state) == gen;
}

/* `state` sealed in incarnation `gen`: all that it counts stands there for good. */
static inline struct rl_u128
rl_state_sealed(struct rl_u128 state, uint8_t gen)
{
	state.hi = (state.hi & ~RL_STATE_GEN_MASK) | RL_STATE_SEAL | gen;
	return state;
}

static inline bool
rl_u128_equal(struct rl_u128 a, struct rl_u128 b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* Eight slots: whose they are, and what they count. */
struct rl_bucket {
	uint64_t tag[RL_BUCKET_SLOTS] __attribute__((aligned(64)));
	struct rl_u128 state[RL_BUCKET_SLOTS];
};

_Static_assert(sizeof(struct rl_u128) == 16, "one CAS16");
_Static_assert(sizeof(struct rl_bucket) == 192, "three lines");
_Static_assert(offsetof(struct rl_bucket, state) == 64, "the tags have the first");

#endif
