/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of events as tools read it. Nothing in it is trusted: an entry is believed if its
 * sequence and check fit, a key's name if it is the record's of the key's tag, and all else is
 * bounded.
 */
#include <errno.h>
#include <string.h>

#include "move/follow.h"
#include "rl_admin.h"
#include "rule/handle.h"
#include "segment/event.h"
#include "segment/record.h"

/* The parts of an event, and the texts that it points to. */
struct room {
	struct rl_event event;
	struct rl_record_copy copy;
	uint64_t bytes[RL_EVENT_KEY_MAX / 8];
};

enum seen {
	SEEN,
	UNFINISHED, /* nobody has written it yet, or ever will */
	OVER,       /* it is another's by now */
};

static const char *const names[] = {
	[RL_EVENT_DENIED] = "denied",
	[RL_EVENT_BANNED] = "banned",
	[RL_EVENT_FULL] = "full",
	[RL_EVENT_RESET] = "reset",
	[RL_EVENT_CONFIGURED] = "configured",
	[RL_EVENT_DEFINED] = "defined",
	[RL_EVENT_FORGOTTEN] = "forgotten",
	[RL_EVENT_BAN_SET] = "ban set",
	[RL_EVENT_BAN_LIFTED] = "ban lifted",
	[RL_EVENT_EXEMPTION_SET] = "allowed",
	[RL_EVENT_ORDER] = "order",
	[RL_EVENT_STORE_AWAY] = "store away",
	[RL_EVENT_STORE_BACK] = "store back",
	[RL_EVENT_HOST_JOINED] = "host joined",
	[RL_EVENT_HOST_GONE] = "host gone",
	[RL_EVENT_OVERRIDE_SET] = "override",
	[RL_EVENT_OVERRIDE_LIFTED] = "un-override",
};

const char *
rl_event_name(enum rl_event_kind kind)
{
	return kind >= RL_EVENT_DENIED && kind <= RL_EVENT_LAST ? names[kind] : NULL;
}

static uint64_t
begun(struct rl_event_ring ring)
{
	return rl_atomic_load(&ring.head->next);
}

void
rl_events_now(const struct rl *rl, struct rl_events_cursor *cursor)
{
	const struct rl_segment *s = &rl->segment;

	*cursor = (struct rl_events_cursor){.next = s->geometry.events > 0 ? begun(rl_event_ring(s))
	                                                                   : 0};
}

/* Entry n, as it stood at one moment. */
static enum seen
load(struct rl_event_ring ring, uint64_t n, struct rl_event_entry *e)
{
	const struct rl_event_entry *at = rl_event_at(ring, n);

	e->word = rl_atomic_load(&at->word);
	e->time_ns = rl_atomic_load_relaxed(&at->time_ns);
	e->tag = rl_atomic_load_relaxed(&at->tag);
	e->where = rl_atomic_load_relaxed(&at->where);
	e->retry_ns = rl_atomic_load_relaxed(&at->retry_ns);
	e->by = rl_atomic_load_relaxed(&at->by);
	e->detail[0] = rl_atomic_load_relaxed(&at->detail[0]);
	e->detail[1] = rl_atomic_load_relaxed(&at->detail[1]);
	rl_atomic_fence(); /* all of it before the word again: partner in rl_event_write() */
	if (begun(ring) - n > ring.entries)
		return OVER;
	return rl_atomic_load(&at->word) == e->word &&
	                       e->word == rl_event_word(n, e->word >> RL_EVENT_KIND_SHIFT & 0xff, e)
	               ? SEEN
	               : UNFINISHED;
}

/* The bytes that the entry itself has of the key. */
static void
take_key(const struct rl_event_entry *e, bool has_slot, struct room *room)
{
	struct rl_event *event = &room->event;
	size_t most = has_slot ? sizeof e->detail : sizeof room->bytes;

	room->bytes[0] = e->detail[0];
	room->bytes[1] = e->detail[1];
	room->bytes[2] = e->tag;
	event->key_len = e->where >> RL_EVENT_LEN_SHIFT & 0xffff;
	event->key_kept = event->key_len < most ? event->key_len : most;
	event->key = event->key_len > 0 ? room->bytes : NULL;
}

/* Not before the event itself. */
static void
take_last(uint64_t last_ns, struct rl_event *event)
{
	if (event->last_ns < last_ns)
		event->last_ns = last_ns;
}

/* All that is kept of the key, while it has its slot. */
static void
take_record(const struct rl_segment *s, struct rl_slot slot, struct room *room)
{
	struct rl_event *event = &room->event;
	struct rl_record_denials denials;

	if (slot.index >= rl_segment_slots(s) || !rl_record_read(s, slot, &room->copy))
		return;
	rl_record_denials(&room->copy, event->time_ns, &denials);
	take_last(denials.last_ns, event);
	if (room->copy.key_kept <= event->key_kept)
		return;
	event->key = room->copy.bytes;
	event->key_kept = room->copy.key_kept;
	event->key_len = room->copy.key_len;
}

static int
rule_of(const struct rl *rl, const struct rl_event_entry *e)
{
	uint64_t row = e->where >> RL_EVENT_RULE_SHIFT & RL_EVENT_RULE_MASK;
	int rule;

	if (row >= rl->segment.geometry.rules)
		return -1;
	rule = rl_rules_handle(&rl->segment, (int)row);
	return rl_handle_has(rl, rule) ? rule : -1;
}

static enum rl_match
match_of(const struct rl_event_entry *e)
{
	uint64_t match = e->where >> RL_EVENT_MATCH_SHIFT;

	return match <= RL_MATCH_NETWORK ? (enum rl_match)match : RL_MATCH_KEY;
}

/* What its kind makes of the word. */
static void
take_value(uint64_t value, struct rl_event *event)
{
	switch (event->kind) {
	case RL_EVENT_CONFIGURED:
		event->generation = value;
		break;
	case RL_EVENT_OVERRIDE_SET:
	case RL_EVENT_OVERRIDE_LIFTED:
		event->capacity = (uint32_t)value & RL_CAPACITY_MAX;
		event->retry_after_ns = (value >> RL_EVENT_LEFT_SHIFT) * RL_MILLISECOND;
		break;
	default:
		event->retry_after_ns = value;
	}
}

static void
make(struct rl *rl, uint64_t n, const struct rl_event_entry *e, struct room *room)
{
	struct rl_event *event = &room->event;
	struct rl_slot slot = {.index = e->where & UINT32_MAX, .tag = e->tag};
	bool has_slot = slot.index != RL_EVENT_NO_SLOT;

	*event = (struct rl_event){
		.kind = (enum rl_event_kind)(e->word >> RL_EVENT_KIND_SHIFT & 0xff),
		.rule = rule_of(rl, e),
		.limit = e->where >> RL_EVENT_LIMIT_SHIFT & 7,
		.time_ns = e->time_ns,
		.last_ns = e->time_ns,
		.number = n,
		.id = has_slot ? e->tag & RL_TAG_HASH_MASK : 0,
		.one_in = (uint32_t)e->by > 0 ? (uint32_t)e->by : 1,
		.author = (uid_t)(e->by >> 32),
		.match = match_of(e),
	};
	take_value(e->retry_ns, event);
	take_key(e, has_slot, room);
	if (has_slot)
		take_record(&rl->segment, slot, room);
	if (event->kind != RL_EVENT_BANNED)
		return;
	take_last(rl_event_banned_last(&rl->segment, event->author), event);
	event->author = 0;
}

/* Events that were written over are lost. */
static void
catch_up(struct rl_event_ring ring, uint64_t end, struct rl_events_cursor *c)
{
	uint64_t kept = ring.entries, oldest = end > kept ? end - kept : 0;

	if (c->next > end) /* of another segment, or of damage */
		c->next = end;
	if (c->next >= oldest)
		return;
	if (c->next > 0 || c->lost > 0 || c->met > 0)
		c->lost += oldest - c->next;
	c->next = oldest;
}

/* True: it is passed by. */
static bool
pass_by(struct rl_events_cursor *c)
{
	if (c->met != c->next + 1) {
		c->met = c->next + 1;
		return false;
	}
	c->lost++;
	c->next++;
	return true;
}

static int
read_ring(struct rl *rl, struct rl_event_ring ring, struct rl_events_cursor *c,
          int (*visit)(const struct rl_event *event, void *arg), void *arg)
{
	struct rl_event_entry e;
	struct room room;
	uint64_t end = begun(ring);
	int result = 0;

	catch_up(ring, end, c);
	for (uint64_t left = ring.entries; left > 0 && c->next < end && result == 0; left--) {
		switch (load(ring, c->next, &e)) {
		case OVER:
			catch_up(ring, begun(ring), c);
			break;
		case UNFINISHED:
			if (!pass_by(c))
				return 0;
			break;
		case SEEN:
			make(rl, c->next++, &e, &room);
			result = visit(&room.event, arg);
			break;
		}
	}
	return result;
}

int
rl_events_read(struct rl *rl, struct rl_events_cursor *c,
               int (*visit)(const struct rl_event *event, void *arg), void *arg)
{
	rl = rl_here(rl);
	if (rl->segment.geometry.events == 0)
		return -ENOENT;
	return read_ring(rl, rl_event_ring(&rl->segment), c, visit, arg);
}

int
rl_changes_read(struct rl *rl, struct rl_events_cursor *c,
                int (*visit)(const struct rl_event *event, void *arg), void *arg)
{
	rl = rl_here(rl);
	if (rl->segment.geometry.events == 0)
		return -ENOENT;
	return read_ring(rl, rl_change_ring(&rl->segment), c, visit, arg);
}
