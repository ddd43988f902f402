/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LAYOUT_PEOPLE_H
#define RL_LAYOUT_PEOPLE_H

/* What is kept for people: counters, their history, events, and the names of keys and bans. */

#include "shared/layout.h"

/*
 * Counters of one rule as added by one CPU. There is room for more of them than there are: a word
 * that no counter has yet is 0, so builds that know more and fewer counters share a segment.
 */
#define RL_STAT_WORDS 32
struct rl_stat {
	uint64_t counter[RL_STAT_WORDS];
};

/*
 * What its limits denied, by their order in it, a line for all; and what shadows would have. See
 * rule/denials.h. A denial by a limit is no part of the counter of denials.
 */
struct rl_denials {
	uint64_t denied[RL_LIMITS_MAX];
	uint64_t shadow_denied[RL_LIMITS_MAX];
};

/*
 * A rule's history: how its counters stood when a minute began, at the minute's number modulo
 * RL_MINUTES, and the same for quarters of an hour; written by one CAS16, and before that what the
 * causes of denials were, see history.h.
 *
 *	lo  number:24 | allowed:40      hi  0:24 | denied:40      number and zeros highest
 *	causes  full:32 | banned:32
 *
 * `reported` counts the events of each kind that the rule has told in a second: count:32 |
 * second:32, lowest first: see event.h.
 */
#define RL_MINUTES 60
#define RL_QUARTERS 96
#define RL_HISTORY_COUNT_BITS 40
#define RL_HISTORY_COUNT_MASK ((UINT64_C(1) << RL_HISTORY_COUNT_BITS) - 1)
#define RL_REPORTED_KINDS 8
struct rl_history_row {
	uint64_t reported[RL_REPORTED_KINDS];
	struct rl_u128 minute[RL_MINUTES];
	struct rl_u128 quarter[RL_QUARTERS];
	uint64_t minute_causes[RL_MINUTES];
	uint64_t quarter_causes[RL_QUARTERS];
	uint64_t unused[4];
};

/*
 * The ring of events: a line, and then entry n of all that were ever begun, at n modulo `events`.
 *
 *	word    sequence:32 | kind:8 | check:24, lowest first; sequence is n + 1; stored last
 *	where   slot:32 | rule:10 | limit:3 | key_len:16 | 0:3, lowest first
 *	by      one in how many:32 | author:32, lowest first
 *	detail  the first bytes of a key, or what else the kind says: event.h
 *
 * Behind it a second ring, of `changes` alone, which nothing else overwrites; of the words
 * `reported` of its line the first counts those of a minute. Then the words that say in which
 * second banned keys were last denied: second:32 | what stands for the key:32, lowest first.
 */
#define RL_BANNED_TOLD 1024 /* words, of keys that bans denied */
struct rl_events_head {
	uint64_t next;        /* how many were begun */
	uint64_t reported[7]; /* as rl_history_row.reported, of what is no rule's */
};

struct rl_event_entry {
	uint64_t word;
	uint64_t time_ns;
	uint64_t tag;
	uint64_t where;
	uint64_t retry_ns;
	uint64_t by;
	uint64_t detail[2];
};

/*
 * A key kept for people; `check` ties its bytes to the tag, see record.c. In a cluster's segment
 * the hash of the key under the cluster's secret, two words, stands before the bytes.
 */
#define RL_RECORD_TIER_MASK UINT64_C(0xfffffff) /* of rl_record.last */
#define RL_RECORD_HASH_BYTES 16
struct rl_record {
	uint64_t check;
	uint64_t lengths; /* whole key:16 | kept:16 | denials:20 | ten seconds:3 | of these:9 */
	uint64_t last;    /* tier:28, 0 none | free:4 | second of the newest denial:32: record.h */
	uint64_t bytes[]; /* NUL-padded */
};

/* The part of a ban that is for people, see rule/ban_note.h. */
struct rl_ban_note {
	uint64_t check;
	uint64_t since_ns;
	uint64_t hits;
	uint64_t by;         /* author's uid:32 | the reason's bytes:8 | of:24; ban_note.h */
	uint64_t reason[12]; /* NUL-padded */
};

_Static_assert(sizeof(struct rl_ban_note) == 128, "two lines");
_Static_assert(sizeof(struct rl_stat) == 256, "four lines");
_Static_assert(sizeof(struct rl_denials) == 128, "two lines");
_Static_assert(offsetof(struct rl_denials, shadow_denied) == 64, "a line for all limits");
_Static_assert(sizeof(struct rl_history_row) == 3840, "no holes");
_Static_assert(offsetof(struct rl_history_row, minute) == 64, "the head has its line");
_Static_assert(sizeof(struct rl_events_head) == 64, "a line");
_Static_assert(sizeof(struct rl_event_entry) == 64, "a line");
_Static_assert(sizeof(struct rl_record) == 24, "record head");

#endif
