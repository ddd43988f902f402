/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LAYOUT_H
#define RL_LAYOUT_H

/*
 * The shared bytes, and nothing else. No pointers: every process computes offsets from
 * its own validated copy of the geometry.
 *
 *	header   4096 bytes, written once before the segment has a name
 *	rules    rules x 256 bytes: a name, and which limits it has
 *	limits   limits x 128 bytes: a shape, and how much
 *	overrides  2 x override_slots x 16 bytes
 *	bans     ban_slots x 16 bytes
 *	filters  a line, then two banks for bans and two for overrides of 8-byte words: filter.h
 *	holders  holders x 16 bytes: which processes hold units in flight
 *	stats    stripes x rules x 256 bytes, a stripe for each CPU; then stripes x limits x 16
 *	history  rules x 2560 bytes: what was allowed and denied, by minutes and quarters of an hour
 *	events   a line, then events x 64 bytes: what is told to people; nothing if events is 0
 *	table    buckets x 192 bytes: a line of eight tags, two lines of their eight states
 *	rings    buckets x 8 x ring x 8 bytes
 *	wishes   of a cluster's segment: a bit for each slot, and one for each word of those
 *	records  (buckets x 8 + ban_slots) x record_bytes: names for people, cold
 *
 * A table that takes the place of that one (segment/tables.h) has its tags and states, its rings, wishes and records
 * behind all of this, one area after the other.
 *
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
 *	FREE(g) -> TENT(key,g) -> LIVE(key,g) -> LEAVING(key,g) -> FREE(g+1); zeroed memory is FREE(0).
 *	LEAVING has the status of FREE, and still its key: see table.c. MOVED is LIVE's last status in a table
 *	that another has taken the place of: move/move.c.
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
 *	sum    what was admitted in the closed sub-buckets that still count
 *	span   how many sub-buckets before `epoch` the ring holds, at most granularity
 *	jump   0: open; j > 0: cur is final and the next epoch is epoch + j
 *	dead   the slot is being retired
 *	gen    the incarnation of the slot that the rest belongs to; any other means zero
 *	serial counts retirements modulo 7, so that with gen's 256 the same word comes back to
 *	       a slot after 1,792 of them at the earliest; 7, with dead: the word is sealed, and nothing changes it
 *	       any more (move/move.c)
 *
 *	Every algorithm keeps these three where they are; the rest of the word is its own
 *	(log.h, gcra.h, in_flight.h). A limit of a cluster has 16 bits of a share above them, and its
 *	windows keep less of the rest: share.h.
 *	Within one gen, epoch never falls, and while it stands `hi` changes only to freeze or
 *	to die; so equal `lo` around a read of `hi` means that no count was torn.
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

#define RL_LAYOUT_VERSION 3
#define RL_LAYOUT_REVISION 1 /* what bits of equal places mean, until the version is released */
#define RL_MAGIC UINT64_C(0x0a0d6d68732d6c72) /* "rl-shm\r\n": damage by text transfer shows */

#define RL_BUCKET_SLOTS 8
#define RL_HEADER_BYTES 4096
#define RL_LIMIT_ROWS_MAX 1023 /* ids fit ten bits, and one more than an id does */
#define RL_SLOTS_PER_ENTRY 2u  /* of overrides and bans: half full at most */
#define RL_FILTER_SLOTS 14u    /* of a table, half full at most, for one word of a filter */
#define RL_BUCKETS_MIN 2
#define RL_BUCKETS_MAX (UINT32_C(5) << 26) /* 1.6 thousand million keys */
#define RL_STRIPES_MAX 1024
#define RL_AREA_ALIGN 4096

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

/* Free to be claimed. */
static inline bool
rl_tag_is_free(uint64_t tag)
{
	return rl_tag_status(tag) == RL_TAG_FREE && (tag & RL_TAG_KEY_MASK) == 0;
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

/* Every size follows from these. Part of the header; validated and copied at attach. */
struct rl_geometry {
	uint32_t buckets;
	uint32_t ring;         /* entries per slot */
	uint32_t record_bytes; /* a record's head and the key bytes kept, a multiple of 8 */
	uint32_t rules;
	uint32_t limits;
	uint32_t override_slots; /* of each bank */
	uint32_t ban_slots;
	uint32_t stripes;
	uint32_t on_full;
	uint16_t huge_pages; /* 1: asked for, and each process maps so that they can be had */
	uint16_t clustered;  /* 1: limits of it may be of a cluster */
	uint32_t holders;
	uint32_t reserves; /* sets of cells; 0: keys without a slot are not counted */
	uint32_t cells;    /* in each, a power of two; 0 with them */
	uint32_t events;   /* entries of the ring of events; 0: none are told */
	uint64_t buffer_ns;
};

/*
 * Which lengths of patterns exist, so that lookups skip the others.
 * v4 and v6 are networks by their bits, 0..32 and 0..128; text are keys by their first bytes,
 * 1..63, and whole keys as 0.
 */
struct rl_lengths {
	uint64_t text;
	uint64_t v4; /* and v6 /128 as bit 63 */
	uint64_t v6[2];
};

/*
 * Which table is in force. The first, number 0, lies where the geometry says; every other one has taken the place of the
 * one before it, and lies behind all else: segment/tables.h.
 */
struct rl_table_place {
	uint64_t at;    /* in bytes from the segment's start, of tags, rings, wishes and records */
	uint64_t sizes; /* buckets:32 | ring:32, buckets lowest */
	uint64_t check; /* keyed, of its number and of both */
};

struct rl_tables {
	uint64_t now; /* the number of the table in force << 1; lowest bit: keys move there still */
	struct rl_table_place place[2]; /* of table n, n > 0: place[n % 2] */
	uint64_t freed;                 /* so many tables' memory was given back */
};

#define RL_TABLES_MOVING UINT64_C(1)
#define RL_TABLE_ALIGN (UINT64_C(2) << 20) /* that of a huge page, and of any page */

/* Where a table may begin, from there on. */
static inline uint64_t
rl_table_at(uint64_t from)
{
	return (from + RL_TABLE_ALIGN - 1) / RL_TABLE_ALIGN * RL_TABLE_ALIGN;
}

struct rl_header {
	uint64_t magic;
	uint32_t layout;
	uint32_t header_bytes;
	uint64_t signature; /* of every size and offset below, see header.c */
	uint64_t bytes;     /* of the whole segment */
	struct rl_geometry geometry;
	uint64_t hash_key[2];
	uint64_t boot_id[2];
	uint64_t created_ns;
	uint64_t unix_offset_ns; /* added to CLOCK_BOOTTIME gives Unix time */
	uint64_t time_namespace; /* the creator's, whose CLOCK_BOOTTIME that is; 0 unknown */
	uint64_t clock_shift_ns; /* of that CLOCK_BOOTTIME against the host's, see namespace.h */
	uint64_t checksum;       /* of everything above */
	uint32_t revision;       /* of the layout; it has a part in the signature, too */
	/* A line that the sweeper writes. */
	uint64_t heartbeat_ns __attribute__((aligned(64)));
	uint64_t sweeper;     /* its pid, and in the upper half of which namespace */
	uint64_t renewals_ns; /* until when the limits that were renewed are paid for: renew.c */
	uint64_t
		cluster_hosts; /* among which a capacity is divided where the store is away; 0: one */
	uint64_t cluster_key[2]; /* from the cluster's secret; zeros: none is known */
	/* A line that decisions read and that is seldom written. */
	uint64_t generation __attribute__((aligned(64)));
	struct rl_lengths any_bans; /* of RL_ANY_RULE */
	uint64_t shares_until;      /* until when the shares of a cluster's limits count */
	/* lo: changes begun; hi: changes over:48 | given up:16, the former lowest. See change.h. */
	struct rl_u128 changes;
	struct rl_tables tables __attribute__((aligned(64)));
};

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
	 * Eight references to limit rows of 10 bits, the first lowest, none behind an empty one; and
	 * the incarnation of the row that they are of, in the uppermost 20 bits. Between them stands 0,
	 * or, of the applications' list, the number of a claim, which is no list: see keep.c.
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
 *              algorithm, its highest bit:1 | 0:9 | incarnation:20 | leaving:1 | new:1 | 0:2, used lowest;
 *              twin tells limits of one rule and shape apart
 * identity.hi  window_ns:55 | granularity - 1:6 | algorithm, its low bits:3, these lowest
 * quota        lo: capacity:28 | burst:28 | shadow:1 | serial:7; hi: undelayed:28 |
 *              incarnation:20 | prefetch:12 | count_denied:1; capacity and undelayed lowest;
 *              serial: see keep.c. Of a limit of a cluster the last 16 bits are blind:14 | away:2
 */
struct rl_limit_row {
	struct rl_u128 identity;
	struct rl_u128 quota[RL_BANKS];
	uint64_t has_tiers;   /* 0: no request under it has had a capacity of its own, ever */
	uint64_t oldest;      /* no key of an incarnation before this one is in the table */
	uint64_t reserve_set; /* where its cells are, see reserve/sets.h */
	uint64_t spare[5];
};

/*
 * The reserve: a line, then sets and then cells. A set is { until, owner }, with the owner's
 * serial:24 from bit 30 on and a mark that there is one: see reserve/sets.h.
 */
struct rl_reserve_head {
	uint64_t until_ns; /* from then on no cell counts anything */
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
#define RL_IDENTITY_ALGORITHM_SHIFT 30 /* of its number, what the shape has no room for */
#define RL_IDENTITY_INCARNATION_SHIFT 40
#define RL_IDENTITY_INCARNATION_MASK UINT64_C(0xfffff)
#define RL_IDENTITY_LEAVING (UINT64_C(1) << 60) /* somebody checks whether it may be given away */
#define RL_IDENTITY_NEW (UINT64_C(1) << 61) /* nothing is counted before it is gone: see rows.c */
#define RL_IDENTITY_MARKS (RL_IDENTITY_LEAVING | RL_IDENTITY_NEW)
#define RL_QUOTA_INCARNATION_SHIFT 28
#define RL_QUOTA_PREFETCH_SHIFT 48
#define RL_QUOTA_COUNT_DENIED_SHIFT 60
#define RL_QUOTA_BLIND_SHIFT 48
#define RL_QUOTA_BLIND_BITS 14
#define RL_QUOTA_AWAY_SHIFT 62
#define RL_QUOTA_SERIAL_SHIFT 57 /* in lo, and the uppermost of it */

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

/* The part of a ban that is for people, see rule/ban_note.h. */
struct rl_ban_note {
	uint64_t check;
	uint64_t since_ns;
	uint64_t hits;
	uint64_t by;         /* author's uid:32 | bytes of the reason:32, author lowest */
	uint64_t reason[12]; /* NUL-padded */
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

/*
 * Counters of one rule as added by one CPU. There is room for more of them than there are: a word
 * that no counter has yet is 0, so builds that know more and fewer counters share a segment.
 */
#define RL_STAT_WORDS 32
struct rl_stat {
	uint64_t counter[RL_STAT_WORDS];
};

/* The denials of each limit, by rows of limits; each CPU adds to its own. */
struct rl_limit_stat {
	uint64_t denied;
	uint64_t shadow_denied;
};

/*
 * A rule's history: how its counters stood when a minute began, at the minute's number modulo
 * RL_MINUTES, and the same for quarters of an hour; written by one CAS16, see history.h.
 *
 *	lo  number:24 | allowed:40      hi  0:24 | denied:40      number and zeros highest
 *
 * `told` counts the events of each kind that the rule has told in a second: count:32 | second:32,
 * lowest first: see event.h.
 */
#define RL_MINUTES 60
#define RL_QUARTERS 96
#define RL_HISTORY_COUNT_BITS 40
#define RL_HISTORY_COUNT_MASK ((UINT64_C(1) << RL_HISTORY_COUNT_BITS) - 1)
#define RL_TOLD_KINDS 8
struct rl_history_row {
	uint64_t told[RL_TOLD_KINDS];
	struct rl_u128 minute[RL_MINUTES];
	struct rl_u128 quarter[RL_QUARTERS];
};

/*
 * The ring of events: a line, and then entry n of all that were ever begun, at n modulo `events`.
 *
 *	word    sequence:32 | kind:8 | check:24, lowest first; sequence is n + 1; stored last
 *	where   slot:32 | rule:10 | limit:3 | key_len:16 | 0:3, lowest first
 *	by      one in how many:32 | author:32, lowest first
 *	detail  the first bytes of a key, or what else the kind says: event.h
 */
struct rl_events_head {
	uint64_t next;    /* how many were begun */
	uint64_t told[7]; /* as rl_history_row.told, of what is no rule's */
};

struct rl_event_entry {
	uint64_t word;
	uint64_t time_ns;
	uint64_t tag;
	uint64_t where;
	uint64_t retry_ns;
	uint64_t by;
	uint64_t detail[2];
};

/*
 * A key kept for people; `check` ties its bytes to the tag, see record.c. In a cluster's segment the hash of
 * the key under the cluster's secret, two words, stands before the bytes.
 */
#define RL_RECORD_TIER_MASK UINT64_C(0xfffffff) /* of rl_record.last */
#define RL_RECORD_HASH_BYTES 16
struct rl_record {
	uint64_t check;
	uint64_t lengths; /* whole key:16 | kept:16 | denials:20 | ten seconds:3 | of these:9 */
	uint64_t last;    /* tier:28, 0 none | cost:9, 0 one | ten seconds:24 | limit:3: record.h */
	uint64_t bytes[]; /* NUL-padded */
};

/* Wishes: 64 slots a word, and in the summary a bit for each of these words. */
#define RL_WISH_SLOTS 64u
#define RL_WISH_SUMMARY (RL_WISH_SLOTS * 64u)

_Static_assert(sizeof(struct rl_u128) == 16, "one CAS16");
_Static_assert(sizeof(struct rl_bucket) == 192, "three lines");
_Static_assert(offsetof(struct rl_bucket, state) == 64, "the tags have the first");
_Static_assert(sizeof(struct rl_geometry) == 64, "no holes");
_Static_assert(sizeof(struct rl_header) <= RL_HEADER_BYTES, "header fits");
_Static_assert(offsetof(struct rl_header, geometry) == 32, "header order");
_Static_assert(offsetof(struct rl_header, hash_key) == 96, "header order");
_Static_assert(offsetof(struct rl_header, time_namespace) == 144, "header order");
_Static_assert(offsetof(struct rl_header, checksum) == 160, "the checked part ends here");
_Static_assert(offsetof(struct rl_header, revision) == 168, "where there were zeros before");
_Static_assert(offsetof(struct rl_header, heartbeat_ns) == 192, "heartbeat has its line");
_Static_assert(offsetof(struct rl_header, generation) == 256, "generation has its line");
_Static_assert(offsetof(struct rl_header, cluster_key) == 224, "in the sweeper's line");
_Static_assert(offsetof(struct rl_header, shares_until) == 296, "in generation's line");
_Static_assert(offsetof(struct rl_header, changes) == 304, "and ends it");
_Static_assert(sizeof(struct rl_tables) == 64, "a line");
_Static_assert(offsetof(struct rl_header, tables) == 320, "header order");
_Static_assert(sizeof(struct rl_row) == 256, "four lines");
_Static_assert(offsetof(struct rl_row, name) == 64, "the first is all that most decisions read");
_Static_assert(sizeof(struct rl_limit_row) == 128, "two lines");
_Static_assert(offsetof(struct rl_limit_row, has_tiers) == 64, "the first is what decisions read");
_Static_assert(sizeof(struct rl_override_slot) == 16, "four to a line");
_Static_assert(sizeof(struct rl_filter_head) == 64, "a line");
_Static_assert(sizeof(struct rl_auto_row) == 32, "two to a line");
_Static_assert(sizeof(struct rl_ban_note) == 128, "two lines");
_Static_assert(sizeof(struct rl_reserve_head) == 64, "a line");
_Static_assert(sizeof(struct rl_stat) == 256, "four lines");
_Static_assert(sizeof(struct rl_limit_stat) == 16, "a pair");
_Static_assert(sizeof(struct rl_history_row) == 2560, "no holes");
_Static_assert(offsetof(struct rl_history_row, minute) == 64, "the head has its line");
_Static_assert(sizeof(struct rl_events_head) == 64, "a line");
_Static_assert(sizeof(struct rl_event_entry) == 64, "a line");
_Static_assert(sizeof(struct rl_record) == 24, "record head");
_Static_assert((uint64_t)RL_BUCKETS_MAX *RL_BUCKET_SLOTS <= UINT32_MAX, "a slot index is 32 bits");

#endif
