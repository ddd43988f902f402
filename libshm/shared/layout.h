/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LAYOUT_H
#define RL_LAYOUT_H

/*
 * The shared bytes, and nothing else. Here are the areas and the header; the words of a slot are in
 * layout_slot.h, what decisions read of rules and limits in layout_rows.h, what is kept for people
 * in layout_people.h. No pointers: every process computes offsets from its own validated copy of
 * the geometry.
 *
 *	header   4096 bytes, written once before the segment has a name
 *	rules    rules x 256 bytes: a name, and which limits it has
 *	limits   limits x 128 bytes: a shape, and how much
 *	overrides  2 x override_slots x 16 bytes
 *	bans     ban_slots x 16 bytes
 *	filters  a line, then two banks for bans and two for overrides of 8-byte words: filter.h
 *	holders  holders x 16 bytes: which processes hold units in flight
 *	stats    stripes x rules x 256 bytes, a stripe for each CPU; then stripes x rules x 128, of
 *	         limits
 *	history  rules x 3840 bytes: what was allowed and denied, by minutes and quarters
 *	events   a line, then events x 64 bytes: what is told to people; the same of changes, and
 *	         8 KiB of banned keys that were told; nothing if events is 0
 *	table    buckets x 192 bytes: a line of eight tags, two lines of their eight states
 *	rings    buckets x 8 x ring x 8 bytes
 *	wishes   of a cluster's segment: what each slot's key was denied, and a bit for 64 of these
 *	records  (buckets x 8 + ban_slots) x record_bytes: names for people, cold
 *
 * A table that takes the place of that one (segment/tables.h) has its tags and states, its rings,
 * wishes and records behind all of this, one area after the other.
 */

#include "shared/layout_slot.h"

#define RL_LAYOUT_VERSION 3
#define RL_LAYOUT_REVISION 17 /* what bits of equal places mean, until the version is released */
#define RL_MAGIC UINT64_C(0x0a0d6d68732d6c72) /* "rl-shm\r\n": damage by text transfer shows */

#define RL_HEADER_BYTES 4096
#define RL_LIMIT_ROWS_MAX 1023 /* ids fit ten bits, and one more than an id does */
#define RL_SLOTS_PER_ENTRY 2u  /* of overrides and bans: half full at most */
#define RL_FILTER_SLOTS 14u    /* of a table, half full at most, for one word of a filter */
#define RL_BUCKETS_MIN 2
#define RL_BUCKETS_MAX (UINT32_C(5) << 26) /* 1.6 thousand million keys */
#define RL_STRIPES_MAX 1024
#define RL_AREA_ALIGN 4096

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
	uint8_t huge_pages; /* 1: asked for, and each process maps so that they can be had */
	uint8_t clustered;  /* 1: limits of it may be of a cluster */
	uint16_t changes;   /* entries of the ring of changes, which is there if events are */
	uint32_t holders;
	uint32_t reserves; /* sets of overflow counters; 0: keys without a slot are not counted */
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
 * Which table is in force. The first, number 0, lies where the geometry says; every other one has
 * taken the place of the one before it, and lies behind all else: segment/tables.h.
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
	uint64_t sweeper;        /* its pid, and in the upper half of which namespace */
	uint64_t renewals_ns;    /* until when the limits that were renewed are paid for: renew.c */
	uint64_t cluster_hosts;  /* among which a capacity is divided where the store is away; 0:
	                            one */
	uint64_t cluster_key[2]; /* from the cluster's secret; zeros: none is known */
	uint64_t ring_asked;     /* the longest that a definition has not found; 0: none */
	/* Of limits whose blind part is automatic: until when it counts, in ns, but for the six
	   lowest bits, which are log2 of what the twentieth of a capacity is divided by. */
	uint64_t blind_until;
	/* A line that decisions read and that is seldom written. */
	uint64_t generation __attribute__((aligned(64)));
	struct rl_lengths any_bans; /* of RL_ANY_RULE */
	uint64_t shares_until;      /* until when the shares of a cluster's limits count */
	/* lo: changes begun; hi: changes over:48 | given up:16, the former lowest. See change.h. */
	struct rl_u128 changes;
	struct rl_tables tables __attribute__((aligned(64)));
};

#define RL_BLIND_STEP_MASK UINT64_C(0x3f)
#define RL_BLIND_HOSTS_MAX (UINT64_C(1) << 28)
#define RL_BLIND_PART 20 /* of the capacity one, which all hosts together admit blind */

/* Wishes: two slots a word, and in the summary a bit for each 64 slots. */
#define RL_WISH_SLOTS 64u
#define RL_WISH_SUMMARY (RL_WISH_SLOTS * 64u)

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
_Static_assert(offsetof(struct rl_header, ring_asked) == 240, "where there were zeros before");
_Static_assert(offsetof(struct rl_header, blind_until) == 248, "where there were zeros before");
_Static_assert(offsetof(struct rl_header, shares_until) == 296, "in generation's line");
_Static_assert(offsetof(struct rl_header, changes) == 304, "and ends it");
_Static_assert(sizeof(struct rl_tables) == 64, "a line");
_Static_assert(offsetof(struct rl_header, tables) == 320, "header order");
_Static_assert((uint64_t)RL_BUCKETS_MAX *RL_BUCKET_SLOTS <= UINT32_MAX, "a slot index is 32 bits");

#endif
