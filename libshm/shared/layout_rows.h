/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LAYOUT_ROWS_H
#define RL_LAYOUT_ROWS_H

/*
 * The rows of rules and limits, and what else decisions look up: overrides, filters, automatic
 * bans, the overflow area.
 */

#include "shared/layout.h"

/*
 * Where a rule's limits, and a limit's quota, stand three times: as applications defined them,
 * and as the configuration has them, in two banks. Generation g of the configuration is in
 * bank g % 2; the next is written into the other bank and put into force by adding one to
 * `generation`. Readers re-check `generation` after reading a bank.
 */
enum rl_bank {
	RL_BANK_A = 0,
	RL_BANK_B = 1,
	RL_BANK_APP = 2, /* the applications' */
	RL_BANKS = 3,
};

/*
 * A rule. `name_hash` is set by one CAS from zero; rows are appended. Later it goes from one name
 * to another, together with the flags, by one CAS16: see names.c.
 */
struct rl_row {
	union {
		struct {
			uint64_t name_hash; /* keyed, never 0 */
			uint64_t flags;     /* of enum rl_row_flag; incarnation:20 from bit 32 on */
		};
		struct rl_u128 identity; /* both */
	};
	/*
	 * Eight references to limit rows of 10 bits, the first lowest, none behind an empty one;
	 * and the incarnation of the row that they are of, in the uppermost 20 bits. Between them
	 * stands 0, or, of the applications' list, the number of a claim, which is no list: see
	 * keep.c.
	 */
	struct rl_u128 limits[RL_BANKS];
	uint64_t name[8]; /* NUL-padded; believed only if it hashes to name_hash */
	struct rl_lengths overrides[2];
	struct rl_lengths bans;
	uint64_t override_count[2];
	uint64_t override_slots[2]; /* that they take */
};

enum rl_row_flag {
	RL_ROW_OVERRIDES = 1, /* << bank */
	RL_ROW_BANS = 4,
	RL_ROW_TIMED = 8, /* keys have had overrides for a time */
};

#define RL_ROW_INCARNATION_SHIFT 32
#define RL_ROW_INCARNATION_MASK UINT64_C(0xfffff)
#define RL_ROW_LEAVING (UINT64_C(1) << 60) /* somebody checks whether it may be given away */
#define RL_ROW_FRESH (UINT64_C(1) << 61)   /* given away, and its counters are the former rule's */

/* A handle: the row's index, and its incarnation above. */
#define RL_RULE_INDEX_BITS 10
#define RL_RULE_INDEX_MASK 0x3ff

static inline uint64_t
rl_row_incarnation(uint64_t flags)
{
	return flags >> RL_ROW_INCARNATION_SHIFT & RL_ROW_INCARNATION_MASK;
}

/*
 * A limit of a rule. `identity` says whose, and its shape: set by one CAS16, see rows.c.
 * identity.lo  used:1 | rule:10 | twin:3 | prefix_v4:6 | prefix_v6:8 | hard:1 | clustered:1 |
 *              algorithm, its highest bit:1 | 0:9 | incarnation:20 | leaving:1 | new:1 | 0:2,
 *              used lowest; twin tells limits of one rule and shape apart
 * identity.hi  window_ns:55 | granularity - 1:6 | algorithm, its low bits:3, these lowest
 * quota        lo: capacity:28 | burst:28 | shadow:1 | serial:7; hi: undelayed:28 |
 *              incarnation:20 | prefetch:12 | RL_QUOTA_FLAGS:4; capacity and undelayed lowest;
 *              serial: see keep.c. Of a limit of a cluster the last 16 bits are blind:14 | away:2
 */
struct rl_limit_row {
	struct rl_u128 identity;
	struct rl_u128 quota[RL_BANKS];
	uint64_t has_tiers;    /* 0: no request under it has had a capacity of its own, ever */
	uint64_t oldest;       /* no key of an incarnation before this one is in the table */
	uint64_t overflow_set; /* where its overflow counters are, see overflow/sets.h */
	uint64_t denied_from;  /* which of its rule's denials are its own: rule/denials.h; and the
	                          next: */
	uint64_t shadow_denied_from;
	uint64_t waits; /* of a cluster's: for how long callers wait for a share, in ms, 16
	                          bits for each bank; 0 the usual time, RL_ROW_WAIT_NONE none */
	uint64_t spare[2];
};

#define RL_ROW_WAIT_BITS 16
#define RL_ROW_WAIT_MASK UINT64_C(0xffff)
#define RL_ROW_WAIT_NONE 0xffffu

/*
 * The overflow area: a line, then sets and then overflow counters. A set is { until, owner }, with
 * the owner's serial:24 from bit 30 on and a mark that there is one: see overflow/sets.h.
 */
struct rl_overflow_head {
	uint64_t until_ns; /* from then on no overflow counter counts anything */
	uint64_t spare[7];
};

#define RL_SET_SERIAL_SHIFT 30
#define RL_SET_OWNED (UINT64_C(1) << 63)

#define RL_IDENTITY_USED UINT64_C(1)
#define RL_IDENTITY_RULE_SHIFT 1
#define RL_IDENTITY_RULE_MASK 0x3ff
#define RL_IDENTITY_TWIN_SHIFT 11
#define RL_IDENTITY_V4_SHIFT 14
#define RL_IDENTITY_V4_MASK 0x3f
#define RL_IDENTITY_V6_SHIFT 20
#define RL_IDENTITY_V6_MASK 0xff
#define RL_IDENTITY_HARD (UINT64_C(1) << 28)
#define RL_IDENTITY_CLUSTERED (UINT64_C(1) << 29)
#define RL_IDENTITY_ALGORITHM_SHIFT 30           /* of its number, what the shape has no room for */
#define RL_IDENTITY_REQUESTS (UINT64_C(1) << 31) /* counts requests, not what they cost */
#define RL_IDENTITY_INCARNATION_SHIFT 40
#define RL_IDENTITY_INCARNATION_MASK UINT64_C(0xfffff)
#define RL_IDENTITY_LEAVING (UINT64_C(1) << 60) /* somebody checks whether it may be given away */
#define RL_IDENTITY_NEW (UINT64_C(1) << 61) /* nothing is counted before it is gone: see rows.c */
#define RL_IDENTITY_MARKS (RL_IDENTITY_LEAVING | RL_IDENTITY_NEW)
#define RL_QUOTA_INCARNATION_SHIFT 28
#define RL_QUOTA_PREFETCH_SHIFT 48
#define RL_QUOTA_BLIND_SHIFT 48
#define RL_QUOTA_BLIND_BITS 14
#define RL_QUOTA_BLIND_AUTO 0x3fffu /* more than any number is */
#define RL_QUOTA_AWAY_SHIFT 62
#define RL_QUOTA_SERIAL_SHIFT 57 /* in lo, and the uppermost of it */

/*
 * What a quota of this host alone says by one bit, of hi from 60 to 63: FLAG(member of struct
 * rl_limit, member of struct rl_quota, bit). Whoever keeps or reads a quota does it by this list,
 * and it has a part in the signature: with one more it is another layout.
 */
#define RL_QUOTA_FLAGS(FLAG) FLAG(count_denied, counts_denied, 60)

static inline uint64_t
rl_identity_incarnation(struct rl_u128 identity)
{
	return identity.lo >> RL_IDENTITY_INCARNATION_SHIFT & RL_IDENTITY_INCARNATION_MASK;
}

/* Is a row that holds `held` that limit's, in any incarnation, marked or not? */
static inline bool
rl_identity_is(struct rl_u128 held, struct rl_u128 identity)
{
	const uint64_t any =
		RL_IDENTITY_INCARNATION_MASK << RL_IDENTITY_INCARNATION_SHIFT | RL_IDENTITY_MARKS;

	return (held.lo & ~any) == (identity.lo & ~any) && held.hi == identity.hi;
}

/* That limit in the next incarnation of a row that holds `held`. */
static inline struct rl_u128
rl_identity_next(struct rl_u128 held, struct rl_u128 identity)
{
	const uint64_t mask = RL_IDENTITY_INCARNATION_MASK << RL_IDENTITY_INCARNATION_SHIFT;
	uint64_t next = (rl_identity_incarnation(held) + 1) << RL_IDENTITY_INCARNATION_SHIFT & mask;

	identity.lo = (identity.lo & ~(mask | RL_IDENTITY_MARKS)) | next | RL_IDENTITY_NEW;
	return identity;
}

/*
 * An override: hash of rule and pattern, never 0; kind:2 | limit:3 | capacity:28, kind lowest.
 * Found by going on from where its hash points to, as far as there are any.
 */
struct rl_override_slot {
	uint64_t hash;
	uint64_t value;
};

/* Before the words of the filters. */
struct rl_filter_head {
	uint64_t ban_epoch; /* rebuilds of the bans' filter; bank ban_epoch % 2 is asked */
	uint64_t spare[7];
};

/* The automatic bans that a rule asks for, in each bank of the configuration: rule/auto_ban.h. */
struct rl_auto_row {
	uint64_t numbers; /* after:32 | longer:32, after lowest; 0: none */
	uint64_t within_ns;
	uint64_t for_ns;
	uint64_t at_most_ns;
};

/* A reference to a limit row: its index + 1; 0 is none. Six fit the lower word. */
#define RL_REF_BITS 10
#define RL_REF_MASK UINT64_C(0x3ff)
#define RL_REFS_LOW 6
#define RL_REFS_LOW_BITS (RL_REFS_LOW * RL_REF_BITS)
#define RL_REFS_INCARNATION_SHIFT 44
#define RL_REFS_HIGH_MASK UINT64_C(0xfffff)
#define RL_REFS_CLAIM_SHIFT 20
#define RL_REFS_CLAIM_MASK UINT64_C(0xffffff)

#define RL_ALGORITHM_BITS 4 /* of its number: three in identity.hi, one in identity.lo */
#define RL_ALGORITHM_MASK ((1U << RL_ALGORITHM_BITS) - 1)
#define RL_SHAPE_ALGORITHM_BITS 3
#define RL_SHAPE_ALGORITHM_MASK UINT64_C(7)
#define RL_SHAPE_GRANULARITY_SHIFT 3
#define RL_SHAPE_GRANULARITY_MASK UINT64_C(0x3f)
#define RL_SHAPE_WINDOW_SHIFT 9

static inline unsigned
rl_identity_algorithm(struct rl_u128 identity)
{
	uint64_t high = identity.lo >> RL_IDENTITY_ALGORITHM_SHIFT << RL_SHAPE_ALGORITHM_BITS;

	return (unsigned)(high | (identity.hi & RL_SHAPE_ALGORITHM_MASK)) & RL_ALGORITHM_MASK;
}

_Static_assert(sizeof(struct rl_row) == 256, "four lines");
_Static_assert(offsetof(struct rl_row, name) == 64, "the first is all that most decisions read");
_Static_assert(sizeof(struct rl_limit_row) == 128, "two lines");
_Static_assert(offsetof(struct rl_limit_row, has_tiers) == 64, "the first is what decisions read");
_Static_assert(sizeof(struct rl_override_slot) == 16, "four to a line");
_Static_assert(sizeof(struct rl_filter_head) == 64, "a line");
_Static_assert(sizeof(struct rl_auto_row) == 32, "two to a line");
_Static_assert(sizeof(struct rl_overflow_head) == 64, "a line");

#endif
