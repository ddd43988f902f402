/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/geometry.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "shared/reserved.h"
#include "table/table.h"

#define LIMITS_PER_RULE 16 /* eight in force, and as many that are to come */

_Static_assert(RL_RULES_MAX <= RL_LIMIT_ROWS_MAX, "each rule can have a limit");

static uint64_t
area(uint64_t *at, uint64_t bytes)
{
	uint64_t start = *at;

	*at = (start + bytes + RL_AREA_ALIGN - 1) / RL_AREA_ALIGN * RL_AREA_ALIGN;
	return start;
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
	a.table = area(&at, (uint64_t)g->buckets * sizeof(struct rl_bucket));
	a.rings = area(&at, slots * g->ring * sizeof(uint64_t));
	a.records = area(&at, (slots + g->ban_slots) * g->record_bytes);
	a.bytes = at;
	return a;
}

static bool
within(uint64_t value, uint64_t low, uint64_t high)
{
	return value >= low && value <= high;
}

bool
rl_geometry_is_valid(const struct rl_geometry *g)
{
	return within(g->buckets, RL_BUCKETS_MIN, RL_BUCKETS_MAX) &&
	       within(g->ring, 1, RL_RING_MAX) &&
	       within(g->record_bytes, sizeof(struct rl_record),
	              sizeof(struct rl_record) + RL_KEY_MAX) &&
	       g->record_bytes % 8 == 0 && within(g->rules, 1, RL_RULES_MAX) &&
	       within(g->limits, 1, RL_LIMIT_ROWS_MAX) &&
	       within(g->override_slots, 1, RL_SLOTS_PER_ENTRY * RL_OVERRIDES_MAX) &&
	       within(g->ban_slots, 1, RL_SLOTS_PER_ENTRY * RL_BANS_MAX) &&
	       within(g->stripes, 1, RL_STRIPES_MAX) && g->on_full <= RL_FULL_ALLOW &&
	       g->huge_pages <= 1 && within(g->holders, 1, RL_HOLDERS_MAX) && g->spare == 0 &&
	       g->buffer_ns <= RL_BUFFER_MAX;
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

int
rl_geometry_from(const struct rl_options *o, struct rl_geometry *g)
{
	uint32_t keys = or_default(o->keys, RL_KEYS_DEFAULT);
	uint32_t key_bytes = or_default(o->key_bytes, RL_KEY_BYTES_DEFAULT);
	uint32_t rules = or_default(o->rules, RL_RULES_DEFAULT), limits = LIMITS_PER_RULE * rules;
	uint32_t overrides = or_default(o->overrides, RL_OVERRIDES_DEFAULT);
	uint32_t bans = or_default(o->bans, RL_BANS_DEFAULT);

	if (key_bytes == RL_KEY_BYTES_NONE)
		key_bytes = 0;
	if (keys > RL_KEYS_MAX || key_bytes > RL_KEY_MAX || rules > RL_RULES_MAX ||
	    overrides > RL_OVERRIDES_MAX || bans > RL_BANS_MAX || !RL_IS_RESERVED(o->reserved))
		return -EINVAL;
	*g = (struct rl_geometry){
		.buckets = rl_table_buckets_for(keys),
		.ring = or_default(o->ring, RL_RING_DEFAULT),
		.record_bytes = (uint32_t)sizeof(struct rl_record) + (key_bytes + 7) / 8 * 8,
		.rules = rules,
		.limits = limits < RL_LIMIT_ROWS_MAX ? limits : RL_LIMIT_ROWS_MAX,
		.override_slots = RL_SLOTS_PER_ENTRY * overrides,
		.ban_slots = RL_SLOTS_PER_ENTRY * bans,
		.stripes = stripes_here(),
		.on_full = (uint32_t)o->on_full,
		.huge_pages = (o->flags & RL_OPEN_HUGE_PAGES) != 0,
		.holders = or_default(o->holders, RL_HOLDERS_DEFAULT),
		.buffer_ns = o->buffer_ns > 0 ? o->buffer_ns : RL_BUFFER_DEFAULT,
	};
	return rl_geometry_is_valid(g) ? 0 : -EINVAL;
}
