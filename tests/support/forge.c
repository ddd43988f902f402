/* SPDX-License-Identifier: BSD-2-Clause */
#include "forge.h"

#include <string.h>

#include "rule/ban_note.h"
#include "rule/rules.h"
#include "segment/event.h"
#include "segment/geometry.h"
#include "segment/record.h"
#include "segment/table_place.h"
#include "testing.h"

/* A number that somebody has not thought of. */
static uint64_t
odd(uint64_t *seed)
{
	switch (test_below(seed, 6)) {
	case 0:
		return test_random(seed);
	case 1:
		return UINT64_C(1) << test_below(seed, 64);
	case 2:
		return UINT64_MAX - test_below(seed, 4096);
	case 3:
		return test_random(seed) >> test_below(seed, 64);
	default:
		return test_below(seed, 16);
	}
}

static struct rl_u128
odd_pair(uint64_t *seed)
{
	struct rl_u128 pair = {.lo = odd(seed)};

	pair.hi = odd(seed);
	return pair;
}

static uint64_t
one_of(uint64_t *seed, uint64_t usual, uint64_t most)
{
	return test_below(seed, 4) ? test_below(seed, usual) : test_below(seed, most);
}

static void
store_pair(struct rl_u128 *at, struct rl_u128 value)
{
	rl_atomic_store(&at->lo, value.lo);
	rl_atomic_store(&at->hi, value.hi);
}

/* Where a table may be, and where none can be. */
static uint64_t
some_place(const struct forge *f, uint64_t *seed)
{
	uint64_t at = RL_TABLE_ALIGN * test_below(seed, 9);

	switch (test_below(seed, 8)) {
	case 0:
		return at + 8 * test_below(seed, 4096);
	case 1:
		return UINT64_MAX / 4096 * 4096 + 4096 - 4096 * test_below(seed, 1024);
	case 2:
		return odd(seed);
	case 3:
		return f->s->bytes;
	default:
		return at;
	}
}

static uint64_t
some_sizes(const struct forge *f, uint64_t *seed)
{
	const struct rl_geometry *g = &f->s->geometry;
	uint64_t buckets = one_of(seed, 2 * g->buckets, 1024), ring = one_of(seed, g->ring + 2, 64);

	if (test_below(seed, 16) == 0)
		return odd(seed);
	return buckets | (test_below(seed, 2) ? g->ring : ring) << 32;
}

/* Another table comes into force: where, and how large, whoever checks the check. */
static void
lie_about_tables(const struct forge *f, uint64_t *seed)
{
	struct rl_tables *t = &f->s->header->tables;
	uint64_t number = test_below(seed, 8) ? 1 + test_below(seed, 3) : odd(seed) >> 1;
	struct rl_table_place place = {.at = some_place(f, seed), .sizes = some_sizes(f, seed)};
	struct rl_table_place *at = &t->place[number % 2];

	rl_atomic_store(&at->at, place.at);
	rl_atomic_store(&at->sizes, place.sizes);
	rl_atomic_store(&at->check, rl_tables_check(f->s, number, &place));
	rl_atomic_store(&t->now, test_below(seed, 2) ? number << 1 | test_below(seed, 2) : 0);
	if (test_below(seed, 8) == 0)
		rl_atomic_store(&t->freed, odd(seed));
}

/* The first table, or one that the file may have behind it. */
static struct rl_bucket *
some_bucket(const struct forge *f, uint64_t *seed)
{
	uint64_t bucket = test_below(seed, f->s->geometry.buckets);
	uint64_t at = rl_table_at(f->s->bytes) + RL_TABLE_ALIGN * test_below(seed, 4);

	if (!f->file || test_below(seed, 2) || at + RL_TABLE_ALIGN > f->bytes)
		return &f->s->table.bucket[bucket];
	return (struct rl_bucket *)(void *)(f->file + at) + bucket;
}

static uint64_t
some_tag(const struct forge *f, const struct rl_bucket *b, uint64_t *seed)
{
	int limit = (int)one_of(seed, 12, RL_TAG_LIMIT_MASK + 1);
	uint64_t key = b->tag[test_below(seed, RL_BUCKET_SLOTS)] & RL_TAG_KEY_MASK;

	if (test_below(seed, 2) && (uint32_t)limit < f->s->geometry.limits)
		key = rl_tag_owner(limit, rl_identity_incarnation(rl_rules_identity(f->s, limit))) |
		      (test_random(seed) & RL_TAG_HASH_MASK);
	return rl_tag_make((enum rl_tag_status)test_below(seed, 4), (uint8_t)odd(seed), key);
}

/* A state of its tag's incarnation counts. */
static void
lie_about_slots(const struct forge *f, uint64_t *seed)
{
	struct rl_bucket *b = some_bucket(f, seed);
	unsigned i = (unsigned)test_below(seed, RL_BUCKET_SLOTS);
	struct rl_u128 state = test_below(seed, 2) ? odd_pair(seed) : b->state[i];

	if (test_below(seed, 2))
		rl_atomic_store(&b->tag[i], some_tag(f, b, seed));
	state.hi ^= odd(seed) << test_below(seed, 64);
	state.hi = (state.hi & ~RL_STATE_SLOT_MASK) | rl_tag_gen(b->tag[i]);
	if (test_below(seed, 4) == 0)
		state.hi |= test_below(seed, 2) ? RL_STATE_SEAL : RL_STATE_DEAD;
	store_pair(&b->state[i], state);
}

static void
lie_about_rings(const struct forge *f, uint64_t *seed)
{
	uint64_t words = rl_segment_slots(f->s) * f->s->geometry.ring;

	for (uint64_t n = 1 + test_below(seed, 8); n > 0; n--)
		rl_atomic_store(&f->s->rings[test_below(seed, words)], odd(seed));
}

static void
lie_about_lengths(struct rl_lengths *l, uint64_t *seed)
{
	bool is_full = test_below(seed, 2);

	rl_atomic_store(&l->text, is_full ? UINT64_MAX : odd(seed));
	rl_atomic_store(&l->v4, is_full ? UINT64_MAX : odd(seed));
	rl_atomic_store(&l->v6[0], is_full ? UINT64_MAX : odd(seed));
	rl_atomic_store(&l->v6[1], is_full ? UINT64_MAX : odd(seed));
}

/* A list that the rule has written, of any limits. */
static void
lie_about_rules(const struct forge *f, uint64_t *seed)
{
	int row = (int)test_below(seed, f->s->geometry.rules);
	struct rl_row *at = &f->s->rows[row];
	struct rl_refs refs = {.count = (unsigned)test_below(seed, RL_LIMITS_MAX + 1)};
	struct rl_u128 list;

	for (unsigned i = 0; i < refs.count; i++)
		refs.limit[i] = (int)one_of(seed, 12, RL_REF_MASK);
	list = rl_refs_pack(&refs);
	list.hi |= rl_rule_refs_tag(rl_rules_handle(f->s, row));
	store_pair(&at->limits[test_below(seed, RL_BANKS)], list);
	lie_about_lengths(test_below(seed, 2) ? &at->bans : &at->overrides[test_below(seed, 2)],
	                  seed);
	rl_atomic_store(&at->flags, at->flags ^ test_below(seed, 8));
	if (test_below(seed, 8) == 0)
		rl_atomic_store(&at->flags, odd(seed));
	if (test_below(seed, 8) == 0)
		rl_atomic_store(&at->override_slots[test_below(seed, 2)], odd(seed));
}

static uint64_t
some_shape(uint64_t *seed)
{
	static const uint64_t windows[] = {0, RL_WINDOW_MIN, RL_SECOND, 8 * RL_SECOND,
	                                   RL_WINDOW_MAX};
	const struct rl_limit l = {
		.algorithm = (enum rl_algorithm)test_below(seed, 8),
		.window_ns = windows[test_below(seed, sizeof windows / sizeof windows[0])],
		.granularity = (uint32_t)(1 + one_of(seed, 12, 64)),
	};

	return test_below(seed, 16) ? rl_shape_pack(&l).hi : odd(seed);
}

/* What a limit is changes under who has looked at it, with its incarnation or without. */
static void
lie_about_limits(const struct forge *f, uint64_t *seed)
{
	struct rl_limit_row *row = &f->s->limits[one_of(seed, 12, f->s->geometry.limits)];
	uint64_t lo = row->identity.lo;

	switch (test_below(seed, 4)) {
	case 0:
		lo = RL_IDENTITY_USED | test_below(seed, 12) << RL_IDENTITY_RULE_SHIFT |
		     odd(seed) << RL_IDENTITY_TWIN_SHIFT;
		break;
	case 1:
		lo ^= (test_below(seed, 2) ? RL_IDENTITY_HARD : odd(seed)) |
		      test_below(seed, 2) << RL_IDENTITY_INCARNATION_SHIFT;
		break;
	default:
		break;
	}
	rl_atomic_store(&row->identity.lo, lo);
	if (test_below(seed, 2))
		rl_atomic_store(&row->identity.hi, some_shape(seed));
	store_pair(&row->quota[test_below(seed, RL_BANKS)], odd_pair(seed));
	rl_atomic_store(&row->has_tiers, test_below(seed, 2));
	rl_atomic_store(&row->oldest, odd(seed));
}

/* A pattern that there is says anything; or there is no end to them. */
static void
lie_about_overrides(const struct forge *f, uint64_t *seed)
{
	uint64_t count = 2 * (uint64_t)f->s->geometry.override_slots;
	struct rl_override_slot *at = &f->s->overrides[test_below(seed, count)];

	rl_atomic_store(&at->value, odd(seed));
	if (test_below(seed, 8) > 0)
		return;
	for (uint64_t i = 0; i < count; i++)
		if (rl_atomic_load(&f->s->overrides[i].hash) == 0)
			rl_atomic_store(&f->s->overrides[i].hash, test_random(seed) | 1);
}

/* A ban that stands, with a note that is its own. */
static void
lie_about_bans(const struct forge *f, uint64_t *seed)
{
	uint32_t slot = (uint32_t)test_below(seed, f->s->geometry.ban_slots);
	struct rl_u128 word = f->s->bans[slot];
	struct rl_ban_words words = {.since_ns = odd(seed), .hits = odd(seed)};

	word.lo = test_below(seed, 4) ? word.lo : odd(seed);
	word.hi = test_below(seed, 2) ? word.hi ^ odd(seed) : odd(seed);
	store_pair(&f->s->bans[slot], word);
	words.author = (uint32_t)odd(seed);
	words.reason_len = (uint32_t)(test_below(seed, 2) ? odd(seed) : test_below(seed, 100));
	for (unsigned i = 0; i < RL_REASON_MAX / 8; i++)
		words.reason[i] = odd(seed);
	rl_ban_note_write(f->s, slot, word, &words);
}

static void
lie_about_filters(const struct forge *f, uint64_t *seed)
{
	const struct rl_filter *filter =
		test_below(seed, 2) ? &f->s->ban_filter : &f->s->override_filter;
	uint64_t *bank = filter->bank[test_below(seed, 2)];

	if (test_below(seed, 4) == 0)
		rl_atomic_store(f->s->ban_epoch, odd(seed));
	for (uint32_t i = 0; i < filter->words; i++)
		rl_atomic_store(&bank[i], UINT64_MAX);
	lie_about_lengths(&f->s->header->any_bans, seed);
}

/* The x of x * factor = product: a key whose tag has those bits. */
static uint64_t
quotient(uint64_t product, uint64_t factor)
{
	uint64_t inverse = factor;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	return product * inverse;
}

static uint64_t
hash_of_tag(uint64_t tag, uint64_t low)
{
	uint64_t product = (tag & RL_TAG_HASH_MASK) << (64 - RL_TAG_HASH_BITS) |
	                   (low & ((UINT64_C(1) << (64 - RL_TAG_HASH_BITS)) - 1));

	return quotient(product, UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * A name that is the slot's key's, for all that a reader can tell; or one that is longer than its
 * room.
 */
static void
lie_about_names(const struct forge *f, uint64_t *seed)
{
	const struct rl_segment *s = f->s;
	uint64_t index = test_below(seed, rl_segment_slots(s) + s->geometry.ban_slots), ban;
	size_t room = s->geometry.record_bytes - rl_record_head(&s->geometry);
	struct rl_record_copy copy = {.key_kept = test_below(seed, room + 1), .last = odd(seed)};
	struct rl_slot slot = {.index = index};

	for (unsigned i = 0; i < room / 8; i++)
		copy.bytes[i] = odd(seed);
	copy.key_len = test_below(seed, 2) ? copy.key_kept : (copy.key_kept | odd(seed)) & 0xffff;
	copy.lengths = copy.key_len | copy.key_kept << 16 | odd(seed) << 32;
	if (index < rl_segment_slots(s)) {
		slot.tag = rl_atomic_load(rl_table_tag(&s->table, index));
		copy.key_hash = hash_of_tag(slot.tag, test_random(seed));
	} else {
		ban = index - rl_segment_slots(s);
		slot.tag = s->bans[ban].lo;
	}
	rl_record_carry(s, slot, &copy);
	if (test_below(seed, 4) == 0)
		rl_atomic_store(&rl_segment_record(s, index)->lengths, odd(seed));
}

/* An event that a reader believes: of any kind, of a slot, rule and limit that there are not. */
static void
lie_about_events(const struct forge *f, uint64_t *seed)
{
	uint64_t next = rl_atomic_load(&f->s->events->next), n = next - 1 - test_below(seed, 8);
	struct rl_event_entry *at = rl_event_at(rl_event_ring(f->s), n), e;

	e.time_ns = odd(seed);
	e.tag = rl_atomic_load(
		rl_table_tag(&f->s->table, test_below(seed, rl_segment_slots(f->s))));
	e.where = test_below(seed, 2) ? odd(seed) : test_random(seed);
	e.retry_ns = odd(seed);
	e.by = odd(seed);
	e.detail[0] = odd(seed);
	e.detail[1] = odd(seed);
	e.word = rl_event_word(n, (enum rl_event_kind)one_of(seed, 20, 256), &e);
	memcpy(at, &e, sizeof e);
	if (test_below(seed, 8) == 0)
		rl_atomic_store(&f->s->events->next, odd(seed));
}

static void
lie_about_holders(const struct forge *f, uint64_t *seed)
{
	struct rl_u128 *at = &f->s->holders[test_below(seed, f->s->geometry.holders)];

	store_pair(at, odd_pair(seed));
}

/* A set that its row and itself agree about, and overflow counters of its serial. */
static void
lie_about_overflow(const struct forge *f, uint64_t *seed)
{
	const struct rl_geometry *g = &f->s->geometry;
	uint64_t limit = one_of(seed, 12, g->limits), serial = test_below(seed, 4);
	uint64_t index = one_of(seed, g->reserves + 1, UINT16_MAX + 1);
	uint64_t owner = limit | serial << RL_SET_SERIAL_SHIFT | RL_SET_OWNED;

	owner |= rl_identity_incarnation(rl_rules_identity(f->s, (int)limit)) << 10;
	rl_atomic_store(&f->s->limits[limit].overflow_set, index | serial << 16);
	store_pair(&f->s->overflow_sets[index % g->reserves],
	           (struct rl_u128){.lo = odd(seed), .hi = owner});
	for (int n = 0; n < 8; n++)
		store_pair(&f->s->overflow_counters[test_below(seed,
		                                               (uint64_t)g->reserves * g->cells)],
		           odd_pair(seed));
	rl_atomic_store(f->s->overflow_until, odd(seed));
}

/* What changes in the header, and tables besides. */
static void
lie_about_header(const struct forge *f, uint64_t *seed)
{
	struct rl_header *h = f->s->header;
	uint64_t *const words[] = {
		&h->heartbeat_ns,   &h->sweeper,        &h->renewals_ns, &h->cluster_hosts,
		&h->cluster_key[0], &h->cluster_key[1], &h->generation,  &h->shares_until,
		&h->changes.lo,     &h->changes.hi,     &h->ring_asked,
	};

	rl_atomic_store(words[test_below(seed, sizeof words / sizeof words[0])], odd(seed));
}

static void
lie_about_strikes(const struct forge *f, uint64_t *seed)
{
	const struct rl_geometry *g = &f->s->geometry;
	struct rl_auto_row *row = &f->s->auto_bans[test_below(seed, 2 * (uint64_t)g->rules)];

	rl_atomic_store(&f->s->auto_bans[2 * (uint64_t)g->rules].numbers, 1);
	rl_atomic_store(&row->numbers, test_below(seed, 4) ? UINT64_C(0x100000001) : odd(seed));
	rl_atomic_store(&row->within_ns, test_below(seed, 2) ? RL_SECOND : odd(seed));
	rl_atomic_store(&row->for_ns, test_below(seed, 2) ? RL_SECOND : odd(seed));
	rl_atomic_store(&row->at_most_ns, test_below(seed, 2) ? 9 * RL_SECOND : odd(seed));
	store_pair(&f->s->strikes[test_below(seed, g->ban_slots + 4)], odd_pair(seed));
}

static void
lie_about_counts(const struct forge *f, uint64_t *seed)
{
	const struct rl_geometry *g = &f->s->geometry;
	struct rl_history_row *h = &f->s->history[test_below(seed, g->rules)];

	store_pair(&h->minute[test_below(seed, RL_MINUTES)], odd_pair(seed));
	store_pair(&h->quarter[test_below(seed, RL_QUARTERS)], odd_pair(seed));
	rl_atomic_store(&h->minute_causes[test_below(seed, RL_MINUTES)], odd(seed));
	rl_atomic_store(&h->quarter_causes[test_below(seed, RL_QUARTERS)], odd(seed));
	rl_atomic_store(&h->reported[test_below(seed, RL_REPORTED_KINDS)], odd(seed));
	rl_atomic_store(
		&f->s->stats[test_below(seed, g->rules)].counter[test_below(seed, RL_STAT_WORDS)],
		odd(seed));
}

static void (*const lies[])(const struct forge *f, uint64_t *seed) = {
	lie_about_tables,  lie_about_tables,   lie_about_tables, lie_about_tables,
	lie_about_slots,   lie_about_slots,    lie_about_slots,  lie_about_rings,
	lie_about_rules,   lie_about_limits,   lie_about_limits, lie_about_overrides,
	lie_about_bans,    lie_about_filters,  lie_about_names,  lie_about_events,
	lie_about_holders, lie_about_overflow, lie_about_header, lie_about_strikes,
	lie_about_counts,
};

void
forge(const struct forge *f, uint64_t *seed)
{
	lies[test_below(seed, sizeof lies / sizeof lies[0])](f, seed);
}
