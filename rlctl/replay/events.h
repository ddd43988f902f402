/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_EVENTS_H
#define RLCTL_REPLAY_EVENTS_H

/* Recorded requests, sixteen bytes each, and how their times lie. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/names.h"

struct event {
	uint64_t time_ns;
	uint32_t key;  /* its number among the names */
	uint32_t cost; /* or, where costs are known afterwards, the number of its spending */
};

#define ACTUAL_UNKNOWN UINT32_MAX

/* What a request is charged, what it has cost in truth, and when after it that is known. */
struct spending {
	uint32_t estimate, actual;
	uint64_t lasts_ns;
};

struct events {
	struct event *at; /* in the order in which they are decided */
	size_t count, room;
	struct spending *spendings; /* NULL: costs are known before */
	size_t spending_count, spending_room;
	struct names names;
	uint64_t out_of_order; /* requests earlier than one before them, as they arrived */
	uint64_t step_back_ns; /* the farthest of them */
	bool has_any;          /* the next are of something */
	uint64_t first_ns, last_ns;
	uint64_t start_ns; /* of the one decided first */
};

struct events events_make(void);

/* Add a request behind the others; false if there are too many keys. */
bool events_add(struct events *events, struct slice key, uint64_t time_ns, uint32_t cost);

/* Keep what a request spends; returns what is its event's cost. */
uint32_t events_spend(struct events *events, struct spending spending);

/* The spending of an event. */
struct spending events_spending(const struct events *events, const struct event *event);

/* Note when a request came, and put one of a key that was counted behind the others. */
void events_note(struct events *events, uint64_t time_ns);
void events_append(struct events *events, struct event event);

/* Put them in the order of their times; those of one time stay in the order in which they came. */
void events_sort(struct events *events);

void events_free(struct events *events);

#endif
