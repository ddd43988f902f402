/* SPDX-License-Identifier: BSD-2-Clause */
/* Compare a segment with the options that were asked for. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rl_fields.h"
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

/* No word is more than another. The default cannot be told from what was not asked for. */
static void
same_word(struct sentence *s, const struct rl_field *field, uint64_t is, uint64_t asked)
{
	if (asked == field->usual || is == asked)
		return;
	say_field(s, field->name);
	append(s, "%s, and %s was asked for",
	       is <= field->most ? field->words[is] : "none that there is",
	       asked <= field->most ? field->words[asked] : "none that there is");
}

/* Names are not to be kept where that was asked for; what else is there does no harm. */
static void
none_of_it(struct sentence *s, const struct rl_field *field, uint64_t is)
{
	if (is == 0 || field->offset != offsetof(struct rl_options, key_bytes))
		return;
	say_field(s, field->name);
	append(s, "%" PRIu64 ", and none were asked for", is);
}

static void
compare_field(struct sentence *s, const struct rl_field *field, uint64_t is, uint64_t asked)
{
	if (field->none > 0 && is == field->none)
		is = 0;
	if (field->words) {
		same_word(s, field, is, asked);
	} else if (field->none > 0 && asked == field->none) {
		none_of_it(s, field, is);
	} else if (field->marks & RL_FIELD_AT_LEAST && is < asked) {
		say_field(s, field->name);
		append(s, "%" PRIu64 ", and %" PRIu64 " were asked for", is, asked);
	}
}

void
rl_info_options(const struct rl_info *info, struct rl_options *options)
{
	*options = (struct rl_options){
		.keys = (uint32_t)info->keys,
		.ring = info->ring,
		.key_bytes = info->key_bytes > 0 ? info->key_bytes : RL_KEY_BYTES_NONE,
		.rules = info->rules,
		.overrides = info->overrides,
		.bans = info->bans,
		.holders = info->holders,
		.on_full = info->on_full,
		.buffer_ns = info->buffer_ns,
		.cells = info->cells,
		.reserves = info->reserves,
		.events = info->events > 0 ? info->events : RL_EVENTS_NONE,
		.changes = info->changes,
		.mode = info->mode,
		.group = info->group,
		.flags = (info->huge_pages ? RL_OPEN_HUGE_PAGES : 0U) |
	                 (info->is_clustered ? RL_OPEN_CLUSTER : 0U),
	};
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
	const struct rl_field *field;
	struct rl_options has;
	struct sentence s = {.to = text, .size = text ? size : 0};

	if (!asked)
		asked = &nothing;
	if (s.size > 0)
		text[0] = '\0';
	rl_info_options(is, &has);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		compare_field(&s, field, rl_field_get(field, &has), rl_field_get(field, asked));
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
		.changes = s->geometry.changes,
		.events_told = s->geometry.events > 0 ? rl_atomic_load(&s->events->next) : 0,
		.ring_asked = ring_asked(s),
		.is_clustered = s->geometry.clustered != 0,
		.reserve_until_ns = s->geometry.cells > 0 ? rl_atomic_load(s->overflow_until) : 0,
	};
}
