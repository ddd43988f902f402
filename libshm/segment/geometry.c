/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/geometry.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "shared/lesser.h"
#include "shared/reserved.h"
#include "table/table.h"

#define RESERVE_PART 7                    /* of the table's memory, by default */
#define RESERVE_SLOT 128                  /* bytes for each slot of a small table */
#define RESERVE_SMALL (UINT64_C(4) << 20) /* and no more of these */
#define LIMITS_PER_RULE 16                /* eight in force, and as many that are to come */

_Static_assert(RL_RULES_MAX <= RL_LIMIT_ROWS_MAX, "each rule can have a limit");

static uint64_t
area(uint64_t *at, uint64_t bytes)
{
	uint64_t start = *at;

	*at = (start + bytes + RL_AREA_ALIGN - 1) / RL_AREA_ALIGN * RL_AREA_ALIGN;
	return start;
}

static uint64_t
overflow_bytes(const struct rl_geometry *g)
{
	if (g->cells == 0)
		return 0;
	return rl_overflow_counters_at(g) +
	       (uint64_t)g->reserves * g->cells * sizeof(struct rl_u128);
}

static uint64_t
events_bytes(const struct rl_geometry *g)
{
	if (g->events == 0)
		return 0;
	return 2 * sizeof(struct rl_events_head) +
	       ((uint64_t)g->events + g->changes) * sizeof(struct rl_event_entry) +
	       RL_BANNED_TOLD * sizeof(uint64_t);
}

uint64_t
rl_wish_bytes(const struct rl_geometry *g)
{
	uint64_t words = rl_wish_words(g);
	uint64_t dry = 2 * words / RL_WISH_SLOTS;

	return g->clustered ? (words + rl_wish_summary_words(words) + dry) * sizeof(uint64_t) : 0;
}

/* Cannot overflow: a valid geometry stays below 2^48 bytes. */
struct rl_areas
rl_areas_of(const struct rl_geometry *g)
{
	uint64_t slots = (uint64_t)g->buckets * RL_BUCKET_SLOTS;
	uint64_t at = RL_HEADER_BYTES;
	struct rl_areas a;

	a.rows = area(&at, (uint64_t)g->rules * sizeof(struct rl_row));
	a.limits = area(&at, (uint64_t)g->limits * sizeof(struct rl_limit_row));
	a.overrides = area(&at, 2 * (uint64_t)g->override_slots * sizeof(struct rl_override_slot));
	a.bans = area(&at, (uint64_t)g->ban_slots * sizeof(struct rl_u128));
	a.filters = area(&at, sizeof(struct rl_filter_head) +
	                              2 *
	                                      (rl_filter_words(g->ban_slots) +
	                                       (uint64_t)rl_filter_words(g->override_slots)) *
	                                      sizeof(uint64_t));
	a.holders = area(&at, (uint64_t)g->holders * sizeof(struct rl_u128));
	a.stats = area(&at, (uint64_t)g->stripes * g->rules * sizeof(struct rl_stat));
	a.limit_stats = area(&at, (uint64_t)g->stripes * g->rules * sizeof(struct rl_denials));
	a.history = area(&at, (uint64_t)g->rules * sizeof(struct rl_history_row));
	a.events = area(&at, events_bytes(g));
	a.table = area(&at, (uint64_t)g->buckets * sizeof(struct rl_bucket));
	a.rings = area(&at, slots * g->ring * sizeof(uint64_t));
	a.wishes = area(&at, rl_wish_bytes(g));
	a.overflow = area(&at, overflow_bytes(g));
	a.records = area(&at, (slots + g->ban_slots) * g->record_bytes);
	a.notes = area(&at, (uint64_t)g->ban_slots * sizeof(struct rl_ban_note));
	a.auto_bans = area(&at, (2 * (uint64_t)g->rules + 1) * sizeof(struct rl_auto_row));
	a.strikes = area(&at, ((uint64_t)g->ban_slots + 4) * sizeof(struct rl_u128));
	a.bytes = at;
	return a;
}

static bool
within(uint64_t value, uint64_t low, uint64_t high)
{
	return value >= low && value <= high;
}

/* Without an overflow area both are 0. */
static bool
has_valid_overflow(const struct rl_geometry *g)
{
	if (g->on_full != RL_FULL_RESERVE)
		return g->reserves == 0 && g->cells == 0;
	return within(g->reserves, 1, RL_RESERVES_MAX) && within(g->cells, 1, RL_CELLS_MAX) &&
	       (g->cells & (g->cells - 1)) == 0;
}

bool
rl_geometry_is_valid(const struct rl_geometry *g)
{
	return within(g->buckets, RL_BUCKETS_MIN, RL_BUCKETS_MAX) &&
	       within(g->ring, 1, RL_RING_MAX) && g->clustered <= 1 &&
	       within(g->record_bytes, rl_record_head(g), rl_record_head(g) + RL_KEY_MAX) &&
	       g->record_bytes % 8 == 0 && within(g->rules, 1, RL_RULES_MAX) &&
	       within(g->limits, 1, RL_LIMIT_ROWS_MAX) &&
	       within(g->override_slots, 1, RL_SLOTS_PER_ENTRY * RL_OVERRIDES_MAX) &&
	       within(g->ban_slots, 1, RL_SLOTS_PER_ENTRY * RL_BANS_MAX) &&
	       within(g->stripes, 1, RL_STRIPES_MAX) && g->on_full <= RL_FULL_ALLOW &&
	       has_valid_overflow(g) && g->huge_pages <= 1 &&
	       within(g->holders, 1, RL_HOLDERS_MAX) && g->events <= RL_EVENTS_MAX &&
	       within(g->changes, 1, RL_CHANGES_MAX) && g->buffer_ns <= RL_BUFFER_MAX;
}

static uint32_t
or_default(uint32_t value, uint32_t fallback)
{
	return value > 0 ? value : fallback;
}

/* A stripe of counters for each CPU there can be. */
static uint32_t
stripes_here(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (cpus < 1)
		return 1;
	return cpus > RL_STRIPES_MAX ? RL_STRIPES_MAX : (uint32_t)cpus;
}

/*
 * A crowd of strangers is as large beside a small table as beside a large one. So to small ones the
 * overflow area is more than to those whose seventh is 4 MiB, from 170,000 keys on.
 */
static uint64_t
overflow_bytes_for(const struct rl_geometry *g)
{
	uint64_t slots = (uint64_t)g->buckets * RL_BUCKET_SLOTS;
	uint64_t slot = sizeof(struct rl_bucket) / RL_BUCKET_SLOTS + g->ring * sizeof(uint64_t) +
	                g->record_bytes;
	uint64_t part = slot * slots / RESERVE_PART;
	uint64_t small = rl_lesser_u64(slots * RESERVE_SLOT, RESERVE_SMALL);

	return part > small ? part : small;
}

/* As many as that is for all sets, so far as it makes a power of two. At least RL_CELLS_MIN. */
static uint32_t
cells_for(const struct rl_geometry *g)
{
	uint64_t most = overflow_bytes_for(g) / (g->reserves * sizeof(struct rl_u128));
	uint32_t cells = RL_CELLS_MIN;

	while (cells < RL_CELLS_MAX && 2 * (uint64_t)cells <= most)
		cells *= 2;
	return cells;
}

/* Only where it is used. */
static void
add_overflow(const struct rl_options *o, struct rl_geometry *g)
{
	if (o->on_full != RL_FULL_RESERVE)
		return;
	g->reserves =
		or_default(o->reserves, o->cells > 0 ? RL_RESERVES_OF_CELLS : RL_RESERVES_DEFAULT);
	g->cells = or_default(o->cells, cells_for(g));
}

int
rl_geometry_from(const struct rl_options *o, struct rl_geometry *g)
{
	uint32_t keys = or_default(o->keys, RL_KEYS_DEFAULT);
	uint32_t key_bytes = or_default(o->key_bytes, RL_KEY_BYTES_DEFAULT);
	uint32_t rules = or_default(o->rules, RL_RULES_DEFAULT), limits = LIMITS_PER_RULE * rules;
	uint32_t overrides = or_default(o->overrides, RL_OVERRIDES_DEFAULT);
	uint32_t bans = or_default(o->bans, RL_BANS_DEFAULT);
	uint32_t events = or_default(o->events, RL_EVENTS_DEFAULT);
	uint32_t changes = or_default(o->changes, RL_CHANGES_DEFAULT);

	if (key_bytes == RL_KEY_BYTES_NONE)
		key_bytes = 0;
	if (events == RL_EVENTS_NONE)
		events = 0;
	if (keys > RL_KEYS_MAX || key_bytes > RL_KEY_MAX || rules > RL_RULES_MAX ||
	    overrides > RL_OVERRIDES_MAX || bans > RL_BANS_MAX || events > RL_EVENTS_MAX ||
	    changes > RL_CHANGES_MAX || !RL_IS_RESERVED(o->reserved))
		return -EINVAL;
	*g = (struct rl_geometry){
		.clustered = (o->flags & RL_OPEN_CLUSTER) != 0,
		.buckets = rl_table_buckets_for(keys),
		.ring = or_default(o->ring, RL_RING_DEFAULT),
		.rules = rules,
		.limits = limits < RL_LIMIT_ROWS_MAX ? limits : RL_LIMIT_ROWS_MAX,
		.override_slots = RL_SLOTS_PER_ENTRY * overrides,
		.ban_slots = RL_SLOTS_PER_ENTRY * bans,
		.stripes = stripes_here(),
		.on_full = (uint32_t)o->on_full,
		.huge_pages = (o->flags & RL_OPEN_HUGE_PAGES) != 0,
		.holders = or_default(o->holders, RL_HOLDERS_DEFAULT),
		.events = events,
		.changes = (uint16_t)changes,
		.buffer_ns = o->buffer_ns > 0 ? o->buffer_ns : RL_BUFFER_DEFAULT,
	};
	g->record_bytes = rl_record_head(g) + (key_bytes + 7) / 8 * 8;
	if ((o->reserves | o->cells) > 0 && o->on_full != RL_FULL_RESERVE)
		return -EINVAL;
	add_overflow(o, g);
	return rl_geometry_is_valid(g) ? 0 : -EINVAL;
}
