/* SPDX-License-Identifier: BSD-2-Clause */
/* Compare a segment with the options that were asked for. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "segment/geometry.h"
#include "segment/segment.h"

/* The sentence that is to be written, a part for each field that falls short. */
struct sentence {
	char *to;
	size_t size;
	size_t len; /* as if there were room for all of it */
	bool is_short;
};

static void __attribute__((format(printf, 2, 3)))
append(struct sentence *s, const char *format, ...)
{
	bool has_room = s->len < s->size;
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(has_room ? s->to + s->len : NULL, has_room ? s->size - s->len : 0, format,
	                arguments);
	va_end(arguments);
	s->len += len > 0 ? (size_t)len : 0;
}

static void
say_field(struct sentence *s, const char *field)
{
	append(s, "%s%s: ", s->is_short ? "; " : "", field);
	s->is_short = true;
}

static void
at_least(struct sentence *s, const char *field, uint64_t is, uint64_t asked)
{
	if (is >= asked)
		return;
	say_field(s, field);
	append(s, "%" PRIu64 ", and %" PRIu64 " were asked for", is, asked);
}

static void
names_kept(struct sentence *s, uint32_t is, uint32_t asked)
{
	if (asked != RL_KEY_BYTES_NONE) {
		at_least(s, "key_bytes", is, asked);
	} else if (is > 0) {
		say_field(s, "key_bytes");
		append(s, "%" PRIu32 ", and none were asked for", is);
	}
}

static const char *
on_full_name(enum rl_on_full on_full)
{
	static const char *const names[] = {"reserve", "deny", "allow", "evict"};

	return on_full <= RL_FULL_EVICT ? names[on_full] : "none that there is";
}

/* None of them is more than another. The default cannot be told from what was not asked for. */
static void
same_on_full(struct sentence *s, enum rl_on_full is, enum rl_on_full asked)
{
	if (asked == RL_FULL_RESERVE || is == asked)
		return;
	say_field(s, "on_full");
	append(s, "%s, and %s was asked for", on_full_name(is), on_full_name(asked));
}

static void
for_cluster(struct sentence *s, bool is, unsigned asked)
{
	if (is || !(asked & RL_OPEN_CLUSTER))
		return;
	say_field(s, "flags");
	append(s, "not made for a cluster, and that was asked for");
}

int
rl_open_compare(const struct rl_info *is, const struct rl_options *asked, char *text, size_t size)
{
	static const struct rl_options nothing;
	struct sentence s = {.to = text, .size = text ? size : 0};

	if (!asked)
		asked = &nothing;
	if (s.size > 0)
		text[0] = '\0';
	at_least(&s, "keys", is->keys, asked->keys);
	at_least(&s, "ring", is->ring, asked->ring);
	names_kept(&s, is->key_bytes, asked->key_bytes);
	at_least(&s, "rules", is->rules, asked->rules);
	at_least(&s, "overrides", is->overrides, asked->overrides);
	at_least(&s, "bans", is->bans, asked->bans);
	at_least(&s, "holders", is->holders, asked->holders);
	same_on_full(&s, is->on_full, asked->on_full);
	at_least(&s, "buffer_ns", is->buffer_ns, asked->buffer_ns);
	at_least(&s, "cells", is->cells, asked->cells);
	at_least(&s, "reserves", is->reserves, asked->reserves);
	if (asked->events != RL_EVENTS_NONE)
		at_least(&s, "events", is->events, asked->events);
	for_cluster(&s, is->is_clustered, asked->flags);
	return s.is_short ? RL_ELESS : 0;
}

static uint32_t
ring_asked(const struct rl_segment *s)
{
	uint64_t asked = rl_atomic_load(&s->header->ring_asked);

	return asked < RL_RING_MAX ? (uint32_t)asked : RL_RING_MAX;
}

void
rl_segment_info(const struct rl_segment *s, struct rl_info *info)
{
	*info = (struct rl_info){
		.layout = RL_LAYOUT_VERSION,
		.bytes = s->bytes,
		.slots = rl_segment_slots(s),
		.ring = s->geometry.ring,
		.key_bytes = s->geometry.record_bytes - rl_record_head(&s->geometry),
		.rules = s->geometry.rules,
		.limits = s->geometry.limits,
		.overrides = s->geometry.override_slots / RL_SLOTS_PER_ENTRY,
		.bans = s->geometry.ban_slots / RL_SLOTS_PER_ENTRY,
		.holders = s->geometry.holders,
		.on_full = (enum rl_on_full)s->geometry.on_full,
		.buffer_ns = s->geometry.buffer_ns,
		.created_ns = s->created_ns,
		.is_readonly = !s->is_writable,
		.huge_pages = s->geometry.huge_pages != 0,
		.keys = rl_table_holds(s->geometry.buckets),
		.cells = s->geometry.cells,
		.reserves = s->geometry.reserves,
		.events = s->geometry.events,
		.events_told = s->geometry.events > 0 ? rl_atomic_load(&s->events->next) : 0,
		.ring_asked = ring_asked(s),
		.is_clustered = s->geometry.clustered != 0,
		.reserve_until_ns = s->geometry.cells > 0 ? rl_atomic_load(s->overflow_until) : 0,
	};
}
