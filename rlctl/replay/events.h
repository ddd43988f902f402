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
	uint32_t key; /* its number among the names */
	uint32_t cost;
};

struct events {
	struct event *at; /* in the order in which they are decided */
	size_t count, room;
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

/* Note when a request came, and put one of a key that was counted behind the others. */
void events_note(struct events *events, uint64_t time_ns);
void events_append(struct events *events, struct event event);

/* Put them in the order of their times; those of one time stay in the order in which they came. */
void events_sort(struct events *events);

void events_free(struct events *events);

#endif
