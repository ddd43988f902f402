/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SEGMENT_H
#define RL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "rl_admin.h"
#include "segment/path.h"
#include "shared/hash.h"
#include "shared/layout.h"
#include "table/table.h"

/* Says of a table what is not in it: rule/filter.h. */
struct rl_filter {
	uint64_t *bank[2];
	uint32_t words; /* in each */
};

/* Where a segment was found or made, and what its file was like then. */
struct rl_origin {
	struct rl_path path;
	struct stat file;
};

/*
 * A mapped segment. Everything here is this process's own copy, checked once: a header
 * that is scribbled over later misleads nobody who is attached.
 */
struct rl_segment {
	struct rl_header *header;
	size_t bytes;    /* that the header's geometry has */
	void *own_map;   /* of a table other than the first: what is mapped for it alone, */
	uint64_t own_at; /* from there in the file on; 0: it was left, see rl_tables_leave() */
	bool is_writable;
	struct rl_geometry geometry;
	struct rl_hash_key key;
	struct rl_sip key_start; /* with which the hash of every key begins */
	uint64_t unix_offset_ns;
	uint64_t created_ns;
	struct rl_table table;
	struct rl_row *rows;
	struct rl_limit_row *limits;
	struct rl_override_slot *overrides;
	struct rl_u128 *bans;
	struct rl_u128 *holders;
	uint64_t *ban_epoch;
	struct rl_filter ban_filter;
	struct rl_filter override_filter;
	uint64_t fingerprint_key[3]; /* made of `key`: rule/fingerprint.h */
	struct rl_stat *stats;
	struct rl_denials *limit_stats;
	struct rl_history_row *history;
	struct rl_events_head *events; /* with events in the geometry */
	uint64_t *rings;
	uint64_t *wishes;         /* segment/wish.h; if the geometry is clustered */
	uint64_t *overflow_until; /* the overflow area, if its geometry has overflow counters */
	struct rl_u128 *overflow_sets;
	struct rl_u128 *overflow_counters;
	unsigned char *records;
	unsigned char *ban_records;    /* behind the first table's */
	struct rl_auto_row *auto_bans; /* two banks, a row for each rule */
	struct rl_u128 *strikes;       /* lines of four, one more than slots of bans / 4 */
	struct rl_ban_note *notes;     /* one for each slot of bans */
	struct rl_origin *origin;      /* NULL: it is private */
};

/* Flags and mode that rl_open() takes. */
bool rl_options_are_known(const struct rl_options *options);

/*
 * Attach to the segment, or create it, as rl_open() says; s->origin is the caller's. 0 or -errno.
 */
int rl_segment_open(const char *name, const struct rl_options *options, struct rl_segment *s);

/* The sizes and options that it was created with. The other fields of rl_info are 0. */
void rl_segment_info(const struct rl_segment *s, struct rl_info *info);

/* One in anonymous memory. 0 or -errno. */
int rl_segment_private(const struct rl_options *options, struct rl_segment *s);

/* That are in use for the segment `first` with the table of `s`. */
uint64_t rl_segment_memory(const struct rl_segment *first, const struct rl_segment *s);

/* How many one with these options has. 0 or -EINVAL. */
int rl_segment_bytes(const struct rl_options *options, uint64_t *bytes);

void rl_segment_close(struct rl_segment *s);

/* 0 or -errno. */
int rl_segment_unlink(const char *name);

/*
 * Another descriptor of the file that is mapped, as it is mapped: to read, or to write, too.
 * -ENOENT if its name is gone or is another's now, or there never was one.
 */
int rl_segment_reopen(const struct rl_segment *s, const char *name);

uint64_t rl_segment_now(const struct rl_segment *s);

static inline uint64_t
rl_segment_slots(const struct rl_segment *s)
{
	return (uint64_t)s->geometry.buckets * RL_BUCKET_SLOTS;
}

static inline uint64_t *
rl_segment_ring(const struct rl_segment *s, uint64_t slot)
{
	return s->rings + slot * s->geometry.ring;
}

/* A ban's is that of its index behind the slots. */
static inline struct rl_record *
rl_segment_record(const struct rl_segment *s, uint64_t slot)
{
	uint64_t slots = rl_segment_slots(s);

	if (__builtin_expect(slot >= slots, 0))
		return (struct rl_record *)(void *)(s->ban_records +
		                                    (slot - slots) * s->geometry.record_bytes);
	return (struct rl_record *)(void *)(s->records + slot * s->geometry.record_bytes);
}

#endif
