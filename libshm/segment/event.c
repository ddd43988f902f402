/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/event.h"

#include <string.h>
#include <unistd.h>

#include "segment/chance.h"
#include "segment/geometry.h"

#define TRIES 8
#define STAGE_BITS 6 /* one in 64 times as many */
#define STAGE_MOST 4
#define NO_RULE RL_EVENT_RULE_MASK

_Static_assert(RL_RULES_MAX <= RL_EVENT_RULE_MASK, "a row more says that there is none");

/* Which word of `reported` counts a kind: floods of one do not hide another. */
static unsigned
reported_of(enum rl_event_kind kind)
{
	switch (kind) {
	case RL_EVENT_DENIED:
		return 0;
	case RL_EVENT_BANNED:
		return 1;
	case RL_EVENT_FULL:
		return 2;
	case RL_EVENT_RESET:
	case RL_EVENT_HOST_JOINED:
	case RL_EVENT_HOST_GONE:
		return 3;
	case RL_EVENT_BAN_SET:
	case RL_EVENT_BAN_LIFTED:
	case RL_EVENT_EXEMPTION_SET:
	case RL_EVENT_ORDER:
	case RL_EVENT_OVERRIDE_SET:
	case RL_EVENT_OVERRIDE_LIFTED:
		return 4;
	default:
		return 5;
	}
}

static uint64_t *
reported_at(const struct rl_segment *s, enum rl_event_kind kind, int rule)
{
	uint32_t row = (uint32_t)rule & RL_RULE_INDEX_MASK;

	if (rule < 0 || row >= s->geometry.rules)
		return &s->events->reported[reported_of(kind)];
	return &s->history[row].reported[reported_of(kind)];
}

/* The events of that second or minute. Where clocks differ a little, the later one holds. */
static uint32_t
reported_in(uint64_t word, uint32_t *second)
{
	int32_t ahead = (int32_t)((uint32_t)(word >> 32) - *second);

	if (ahead == 1)
		*second = (uint32_t)(word >> 32);
	return ahead == 0 || ahead == 1 ? (uint32_t)word : 0;
}

/* So many in a span of time, by the word that counts them, and of the others one in so many. */
static bool
is_due(uint64_t *word, uint64_t span_ns, uint32_t most, uint64_t now_ns, uint32_t *one_in)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t seen = rl_atomic_load_relaxed(word);
		uint32_t second = (uint32_t)(now_ns / span_ns);
		uint32_t reported = reported_in(seen, &second);
		unsigned stage = reported / most;

		stage = stage < STAGE_MOST ? stage : STAGE_MOST;
		if (tries == 0 && stage > 0 && rl_chance(now_ns) >> (64 - STAGE_BITS * stage) != 0)
			return false;
		*one_in = UINT32_C(1) << STAGE_BITS * stage;
		if (rl_atomic_cas(word, seen, (uint64_t)second << 32 | (reported + 1)))
			return true;
	}
	return false;
}

bool
rl_event_is_due(const struct rl_segment *s, enum rl_event_kind kind, int rule, uint64_t now_ns,
                uint32_t *one_in)
{
	return s->geometry.events > 0 && s->is_writable &&
	       is_due(reported_at(s, kind, rule), RL_SECOND, RL_EVENTS_A_SECOND, now_ns, one_in);
}

/* Of all words but the first, the kind and the number. */
static uint64_t
check_of(uint64_t n, enum rl_event_kind kind, const struct rl_event_entry *e)
{
	const uint64_t words[] = {n,           e->time_ns, e->tag,       e->where,
	                          e->retry_ns, e->by,      e->detail[0], e->detail[1]};
	uint64_t sum = kind;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		sum = (sum ^ words[i]) * UINT64_C(0x9fb21c651e98df25);
		sum ^= sum >> 32;
	}
	return sum;
}

uint64_t
rl_event_word(uint64_t n, enum rl_event_kind kind, const struct rl_event_entry *e)
{
	return (uint32_t)(n + 1) | (uint64_t)(kind & 0xff) << RL_EVENT_KIND_SHIFT |
	       check_of(n, kind, e) >> RL_EVENT_CHECK_SHIFT << RL_EVENT_CHECK_SHIFT;
}

/* Events of a cluster name no key. */
static bool
keeps(const struct rl_segment *s, const struct rl_event_note *note)
{
	return (note->kind >= RL_EVENT_ORDER && note->kind <= RL_EVENT_HOST_GONE) ||
	       s->geometry.record_bytes > rl_record_head(&s->geometry);
}

/* A key with a slot has its name there, and its tag here; of others all that fits is kept. */
static void
fill_key(const struct rl_segment *s, const struct rl_event_note *note, struct rl_event_entry *e)
{
	uint64_t bytes[RL_EVENT_KEY_MAX / 8] = {0};
	size_t room = note->slot ? sizeof e->detail : sizeof bytes;

	if (note->key && keeps(s, note))
		memcpy(bytes, note->key, note->key_len < room ? note->key_len : room);
	e->detail[0] = bytes[0];
	e->detail[1] = bytes[1];
	e->tag = note->slot ? note->slot->tag : bytes[2];
}

static void
fill(const struct rl_segment *s, const struct rl_event_note *note, uint32_t one_in,
     struct rl_event_entry *e)
{
	uint32_t row = (uint32_t)note->rule & RL_RULE_INDEX_MASK;
	uint64_t rule = note->rule < 0 || row >= s->geometry.rules ? NO_RULE : row;
	uint64_t len = note->key && (note->slot || keeps(s, note)) ? note->key_len : 0;

	e->time_ns = note->time_ns;
	fill_key(s, note, e);
	e->where = (note->slot ? (uint32_t)note->slot->index : RL_EVENT_NO_SLOT) |
	           rule << RL_EVENT_RULE_SHIFT |
	           (uint64_t)(note->limit & 7) << RL_EVENT_LIMIT_SHIFT |
	           (len & 0xffff) << RL_EVENT_LEN_SHIFT |
	           (uint64_t)(note->match & 7) << RL_EVENT_MATCH_SHIFT;
	e->retry_ns = note->retry_ns;
	e->by = one_in | (uint64_t)note->author << 32;
}

static void
write_in(struct rl_event_ring ring, const struct rl_segment *s, const struct rl_event_note *note,
         uint32_t one_in)
{
	uint64_t n = rl_atomic_take(&ring.head->next, 1);
	struct rl_event_entry *at = rl_event_at(ring, n), e;

	fill(s, note, one_in, &e);
	rl_atomic_store(&at->word, 0);
	rl_atomic_fence(); /* first the mark, then the rest: partner in rl_events_read() */
	rl_atomic_store_relaxed(&at->time_ns, e.time_ns);
	rl_atomic_store_relaxed(&at->tag, e.tag);
	rl_atomic_store_relaxed(&at->where, e.where);
	rl_atomic_store_relaxed(&at->retry_ns, e.retry_ns);
	rl_atomic_store_relaxed(&at->by, e.by);
	rl_atomic_store_relaxed(&at->detail[0], e.detail[0]);
	rl_atomic_store_relaxed(&at->detail[1], e.detail[1]);
	rl_atomic_store(&at->word, rl_event_word(n, note->kind, &e));
}

void
rl_event_write(const struct rl_segment *s, const struct rl_event_note *note, uint32_t one_in)
{
	write_in(rl_event_ring(s), s, note, one_in);
}

#define MINUTE 60
#define MINUTE_NS (MINUTE * RL_SECOND)

void
rl_event_report(const struct rl_segment *s, const struct rl_event_note *note)
{
	uint32_t one_in;

	if (s->geometry.events == 0 || !s->is_writable)
		return;
	if (rl_event_is_due(s, note->kind, note->rule, note->time_ns, &one_in))
		rl_event_write(s, note, one_in);
	if (RL_EVENT_IS_CHANGE(note->kind) && !note->is_automatic &&
	    is_due(&rl_change_ring(s).head->reported[0], MINUTE_NS, RL_CHANGES_A_MINUTE,
	           note->time_ns, &one_in))
		write_in(rl_change_ring(s), s, note, one_in);
}

/*
 * The word of a banned key, second:32 | key:32, has the second of its last hit. Keys share it: of
 * two that are banned at once and share one, each is told more often.
 */
static uint64_t *
banned_word(const struct rl_segment *s, uint32_t banned_key)
{
	return &rl_banned_told(s)[banned_key % RL_BANNED_TOLD];
}

/* Has nobody told of this key in this minute? */
static bool
is_first_hit(const struct rl_segment *s, uint32_t banned_key, uint64_t now_ns)
{
	uint64_t *word = banned_word(s, banned_key), seen = rl_atomic_load_relaxed(word);
	uint32_t second = (uint32_t)(now_ns / RL_SECOND);
	uint64_t mine = second | (uint64_t)banned_key << 32;

	if (seen == mine || !rl_atomic_cas(word, seen, mine))
		return false;
	return seen >> 32 != banned_key || (uint32_t)seen / MINUTE != second / MINUTE;
}

bool
rl_event_is_due_of_ban(const struct rl_segment *s, int rule, uint32_t banned_key, uint64_t now_ns,
                       uint32_t *one_in)
{
	return s->geometry.events > 0 && s->is_writable && is_first_hit(s, banned_key, now_ns) &&
	       rl_event_is_due(s, RL_EVENT_BANNED, rule, now_ns, one_in);
}

uint64_t
rl_event_banned_last(const struct rl_segment *s, uint32_t banned_key)
{
	uint64_t word = rl_atomic_load_relaxed(banned_word(s, banned_key));

	return word >> 32 == banned_key ? (uint32_t)word * RL_SECOND : 0;
}

void
rl_event_report_change(const struct rl_segment *s, enum rl_event_kind kind, int rule,
                       const void *name, size_t name_len, uint64_t value)
{
	rl_event_report(s, &(struct rl_event_note){.kind = kind,
	                                           .rule = rule,
	                                           .time_ns = rl_segment_now(s),
	                                           .key = name,
	                                           .key_len = name_len,
	                                           .retry_ns = value,
	                                           .author = getuid()});
}

void
rl_event_report_ban(const struct rl_segment *s, enum rl_event_kind kind, int rule,
                    const struct rl_pattern *pattern, uint64_t left_ns, bool is_automatic)
{
	rl_event_report(s, &(struct rl_event_note){.kind = kind,
	                                           .rule = rule,
	                                           .time_ns = rl_segment_now(s),
	                                           .key = pattern->key,
	                                           .key_len = pattern->key_len,
	                                           .match = pattern->match,
	                                           .is_automatic = is_automatic,
	                                           .retry_ns = left_ns,
	                                           .author = getuid()});
}

void
rl_event_report_override(const struct rl_segment *s, int rule, unsigned limit,
                         const struct rl_pattern *key, uint32_t capacity, uint64_t left_ns)
{
	uint64_t left_ms = left_ns / RL_MILLISECOND;

	if (left_ms > RL_EVENT_LEFT_MAX)
		left_ms = RL_EVENT_LEFT_MAX;
	rl_event_report(
		s, &(struct rl_event_note){.kind = capacity > 0 ? RL_EVENT_OVERRIDE_SET
	                                                        : RL_EVENT_OVERRIDE_LIFTED,
	                                   .rule = rule,
	                                   .limit = limit,
	                                   .time_ns = rl_segment_now(s),
	                                   .key = key->key,
	                                   .key_len = key->key_len,
	                                   .retry_ns = left_ms << RL_EVENT_LEFT_SHIFT | capacity,
	                                   .author = getuid()});
}
