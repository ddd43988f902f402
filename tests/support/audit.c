/* SPDX-License-Identifier: BSD-2-Clause */
#include "audit.h"

#include <stdio.h>
#include <stdlib.h>

#include "decision.h"
#include "log.h"
#include "record.h"

#define FAULT(a, ...) (snprintf((a)->fault, sizeof(a)->fault, __VA_ARGS__), false)

static bool
is_entry(const uint64_t *ring, const struct rl_window *w, uint64_t epoch, uint8_t gen,
         uint32_t *count)
{
	uint64_t entry = ring[epoch % w->count];

	*count = rl_ring_count(entry, epoch, gen);
	return entry == rl_ring_entry(epoch, *count, gen);
}

/* What whoever closes the frozen state `s` has put where sub-bucket `old` was. */
static bool
is_stored(const uint64_t *ring, const struct rl_window *w, const struct rl_state *s, uint64_t old,
          uint8_t gen)
{
	uint64_t epoch = old + w->count;

	return ring[epoch % w->count] == rl_ring_entry(epoch, epoch == s->epoch ? s->cur : 0, gen);
}

static bool
audit_window(const struct rl_window *w, const struct rl_view *v, uint64_t slot, struct audit *a)
{
	struct rl_state s = rl_state_unpack(v->word, w);
	uint64_t sum = 0;
	uint32_t count;
	bool is_all = true;

	if (w->count < 2)
		return w->count == 1 || s.sum == 0 || FAULT(a, "slot %d: a sum of none", (int)slot);
	for (uint32_t back = 1; back <= s.span; back++) {
		uint64_t epoch = s.epoch - back;
		if (is_entry(v->ring, w, epoch, v->gen, &count)) {
			sum += count;
			continue;
		}
		is_all = false;
		if (back + s.jump <= w->count || !is_stored(v->ring, w, &s, epoch, v->gen))
			return FAULT(a, "slot %d: sub-bucket -%u of %u is not in the ring",
			             (int)slot, back, s.span);
	}
	if (is_all ? sum != s.sum : sum > s.sum)
		return FAULT(a, "slot %d: the ring holds %d, the sum is %u", (int)slot, (int)sum,
		             s.sum);
	return true;
}

static bool
audit_log(const struct rl_limiter *l, const struct rl_view *v, uint64_t slot, struct audit *a)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);
	uint64_t later = log.newest_ns;

	for (uint32_t back = log.pending; back < log.units && back < l->ring_entries; back++) {
		uint64_t time = rl_log_time(&log, v->ring, l->ring_entries, back);
		if (time > later)
			return FAULT(a, "slot %d: unit -%u is later than its next", (int)slot,
			             back);
		later = time;
	}
	return true;
}

/* The places of the key that a record holds; false if not all of it is kept. */
static bool
places_of(struct rl *rl, const struct rl_compiled *limit, const struct rl_kept *kept,
          struct rl_places *places)
{
	unsigned char network[RL_NETWORK_KEY_MAX];
	const void *key = kept->bytes;
	size_t len = kept->kept;
	struct rl_address address;
	unsigned prefix;

	if (kept->kept < kept->key_len)
		return false;
	if (limit->has_prefix && rl_network_parse(key, len, &address, &prefix)) {
		len = rl_network_key(&address, prefix, network);
		key = network;
	}
	rl_request_places(rl, limit, key, len, places);
	return true;
}

static bool
audit_record(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot, struct audit *a)
{
	uint64_t line = slot.index / RL_BUCKET_SLOTS * RL_BUCKET_SLOTS;
	struct rl_places places;
	struct rl_kept kept;

	if (!rl_record_read(&rl->segment, slot, &kept))
		return true;
	a->named++;
	if (!places_of(rl, limit, &kept, &places))
		return true;
	if (places.key != (slot.tag & RL_TAG_KEY_MASK))
		return FAULT(a, "slot %d: its record is another key's", (int)slot.index);
	if (line != places.first[0] && line != places.first[1])
		return FAULT(a, "slot %d: not a place of its key", (int)slot.index);
	return true;
}

static bool
audit_live(struct rl *rl, struct rl_slot slot, struct audit *a)
{
	const struct rl_compiled *limit = rl_handle_limit(rl, rl_tag_limit(slot.tag));
	struct rl_view v;

	a->live++;
	if (!limit)
		return FAULT(a, "slot %d: of no limit", (int)slot.index);
	if (!audit_record(rl, limit, slot, a))
		return false;
	switch (rl_view_load(&rl->segment, slot, &v)) {
	case RL_SEEN_DEAD:
		a->dying++;
		return true;
	case RL_SEEN_GONE:
		return FAULT(a, "slot %d: changes, though nobody works", (int)slot.index);
	case RL_SEEN:
		break;
	}
	if (v.is_zero)
		return true;
	if (limit->limiter.algorithm == RL_SLIDING_LOG)
		return audit_log(&limit->limiter, &v, slot.index, a);
	if (limit->limiter.window.width_ns > 0)
		return audit_window(&limit->limiter.window, &v, slot.index, a);
	return true;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool
audit_unique(uint64_t *keys, size_t count, struct audit *a)
{
	qsort(keys, count, sizeof *keys, compare);
	for (size_t i = 1; i < count; i++)
		if (keys[i] == keys[i - 1])
			return FAULT(a, "key %llx is LIVE twice", (unsigned long long)keys[i]);
	return true;
}

static bool
audit_table(struct rl *rl, struct audit *a)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t *keys = calloc(rl_segment_slots(s), sizeof *keys);
	bool is_clean = keys != NULL;

	for (uint64_t i = 0; is_clean && i < rl_segment_slots(s); i++) {
		struct rl_slot slot = {.index = i, .tag = *rl_table_tag(&s->table, i)};
		switch (rl_tag_status(slot.tag)) {
		case RL_TAG_FREE:
			if ((slot.tag & RL_TAG_KEY_MASK) != 0)
				is_clean = FAULT(a, "slot %d: FREE with a key", (int)i);
			break;
		case RL_TAG_TENT:
			a->tent++;
			break;
		case RL_TAG_LIVE:
			keys[a->live] = slot.tag & RL_TAG_KEY_MASK;
			is_clean = audit_live(rl, slot, a);
			break;
		default:
			is_clean = FAULT(a, "slot %d: no such status", (int)i);
		}
	}
	is_clean = is_clean && audit_unique(keys, a->live, a);
	free(keys);
	return is_clean;
}

static bool
audit_refs(const struct rl_segment *s, int rule, struct audit *a)
{
	for (int half = 0; half < RL_HALVES; half++) {
		struct rl_refs refs;
		rl_rules_refs(s, rule, (enum rl_half)half, &refs);
		for (unsigned i = 0; i < refs.count; i++)
			if (rl_rules_of_limit(s, refs.limit[i]) != rule)
				return FAULT(a, "rule %d: limit %d is not its own", rule,
				             refs.limit[i]);
	}
	return true;
}

static bool
audit_rules(const struct rl_segment *s, struct audit *a)
{
	for (uint32_t i = 0; i < s->geometry.rules; i++) {
		for (uint32_t j = 0; j < i && s->rows[i].name_hash != 0; j++)
			if (s->rows[j].name_hash == 0 ||
			    s->rows[j].name_hash == s->rows[i].name_hash)
				return FAULT(a, "rule %d: twice, or beyond a gap", (int)i);
		if (!audit_refs(s, (int)i, a))
			return false;
	}
	for (uint32_t i = 0; i < s->geometry.limits; i++)
		for (uint32_t j = 0; j < i && s->limits[i].identity.lo != 0; j++)
			if (s->limits[j].identity.lo == 0 ||
			    rl_word16_equal(s->limits[j].identity, s->limits[i].identity))
				return FAULT(a, "limit %d: twice, or beyond a gap", (int)i);
	return true;
}

bool
audit_segment(struct rl *rl, struct audit *a)
{
	*a = (struct audit){0};
	return audit_table(rl, a) && audit_rules(&rl->segment, a);
}
