/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EVENT_H
#define RL_EVENT_H

/*
 * What is told to people: a ring of events in the segment (see layout_people.h), which
 * rl_events_read() reads.
 *
 *	next = n + 1          an atomic add: entry n is this writer's
 *	word = 0              nobody believes the entry
 *	the other words
 *	word = sequence, kind, check
 *
 * Nobody waits. A reader believes an entry that has the sequence it looks for, before and after it
 * has read the rest, and a check that fits. A writer that was killed in between leaves an entry
 * that has not; the next round of the ring writes over it. One that was stopped for a whole round
 * may write into another's entry: then the check fits neither, but for one case in 2^24.
 *
 * So that a flood costs next to nothing, each rule tells so many events of a kind in a second
 * (RL_EVENTS_A_SECOND), and beyond that one in 64, then one in 4,096, and so on; `one_in` says so.
 *
 * Changes are told in a ring of their own as well, which nothing else writes over: there,
 * RL_CHANGES_A_MINUTE of the segment's, and then one in 64.
 */

#include "rl_admin.h"
#include "segment/segment.h"
#include "shared/layout_people.h"

#define RL_EVENTS_A_SECOND 16
#define RL_CHANGES_A_MINUTE 1000

struct rl_event_note {
	enum rl_event_kind kind;
	int rule;       /* a handle or a row, or RL_ANY_RULE */
	unsigned limit; /* which of the rule's */
	uint64_t time_ns;
	const struct rl_slot *slot; /* the key's; NULL: it has none */
	const void *key;            /* or a name, or a pattern; NULL: none */
	size_t key_len;
	uint64_t retry_ns; /* until the key may try again, or a ban ends; else what the kind says */
	uint32_t author;   /* who did it, of a change: a user id; of a ban's hit, its banned key */
	enum rl_match match; /* of a pattern */
	bool is_automatic;   /* a ban that nobody has set: it is told, and no change */
};

/* Is one of these to be told now? It has to be then, by rl_event_write(), as one in *one_in. */
bool rl_event_is_due(const struct rl_segment *s, enum rl_event_kind kind, int rule, uint64_t now_ns,
                     uint32_t *one_in);

void rl_event_write(const struct rl_segment *s, const struct rl_event_note *note, uint32_t one_in);

/* Both. */
void rl_event_report(const struct rl_segment *s, const struct rl_event_note *note);

/* What stands for a key that a ban denies under a rule, by the key's hash. */
static inline uint32_t
rl_event_banned_key(int rule, uint64_t key_hash)
{
	uint64_t both = key_hash + (uint64_t)(uint32_t)rule * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(both >> 32);
}

/*
 * Is one of a request to be told that a ban denies? Once a key and minute, unless many are banned.
 * That it was denied in this second is kept in any case.
 */
bool rl_event_is_due_of_ban(const struct rl_segment *s, int rule, uint32_t banned_key,
                            uint64_t now_ns, uint32_t *one_in);

/* When the second began in which it was last denied; 0: it is not known any more. */
uint64_t rl_event_banned_last(const struct rl_segment *s, uint32_t banned_key);

/* Of a change by this process, just now: of a rule, or a key or pattern of it. */
void rl_event_report_change(const struct rl_segment *s, enum rl_event_kind kind, int rule,
                            const void *name, size_t name_len, uint64_t value);

/* The same of a ban or an exemption of these keys. */
void rl_event_report_ban(const struct rl_segment *s, enum rl_event_kind kind, int rule,
                         const struct rl_pattern *pattern, uint64_t left_ns, bool is_automatic);

/*
 * The same of an override for a time; capacity 0: it is lifted. Its retry_ns has both:
 * left, ms:36 | capacity:28, the latter lowest.
 */
void rl_event_report_override(const struct rl_segment *s, int rule, unsigned limit,
                              const struct rl_pattern *key, uint32_t capacity, uint64_t left_ns);

#define RL_EVENT_LEFT_SHIFT 28
#define RL_EVENT_LEFT_MAX ((UINT64_C(1) << 36) - 1)
#define RL_EVENT_NO_SLOT UINT32_MAX
#define RL_EVENT_RULE_SHIFT 32
#define RL_EVENT_RULE_MASK UINT64_C(0x3ff) /* a row; all ones: none */
#define RL_EVENT_LIMIT_SHIFT 42
#define RL_EVENT_LEN_SHIFT 45
#define RL_EVENT_MATCH_SHIFT 61
#define RL_EVENT_KIND_SHIFT 32
#define RL_EVENT_CHECK_SHIFT 40
#define RL_EVENT_KEY_MAX 24 /* bytes kept of a key without a slot; of others, 16 */

/* The word of an entry that holds the others, as number `n`. */
uint64_t rl_event_word(uint64_t n, enum rl_event_kind kind, const struct rl_event_entry *entry);

/* One of the two rings, with events in the geometry. */
struct rl_event_ring {
	struct rl_events_head *head;
	uint64_t entries;
};

static inline struct rl_event_entry *
rl_event_at(struct rl_event_ring ring, uint64_t n)
{
	return (struct rl_event_entry *)(void *)(ring.head + 1) + n % ring.entries;
}

static inline struct rl_event_ring
rl_event_ring(const struct rl_segment *s)
{
	return (struct rl_event_ring){s->events, s->geometry.events};
}

/* Behind the ring of all events. */
static inline struct rl_event_ring
rl_change_ring(const struct rl_segment *s)
{
	struct rl_event_entry *end =
		(struct rl_event_entry *)(void *)(s->events + 1) + s->geometry.events;

	return (struct rl_event_ring){(struct rl_events_head *)(void *)end, s->geometry.changes};
}

/* Behind both. */
static inline uint64_t *
rl_banned_told(const struct rl_segment *s)
{
	struct rl_event_ring ring = rl_change_ring(s);

	return (uint64_t *)(void *)((struct rl_event_entry *)(void *)(ring.head + 1) +
	                            ring.entries);
}

#endif
