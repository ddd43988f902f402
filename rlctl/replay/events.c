/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/events.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/output.h"

#define RUN 32 /* requests that are sorted by insertion */

struct events
events_make(void)
{
	return (struct events){.names = names_make()};
}

void
events_note(struct events *events, uint64_t time_ns)
{
	if (!events->has_any)
		events->first_ns = events->last_ns = time_ns;
	events->has_any = true;
	if (time_ns < events->last_ns) {
		events->out_of_order++;
		if (events->last_ns - time_ns > events->step_back_ns)
			events->step_back_ns = events->last_ns - time_ns;
	} else {
		events->last_ns = time_ns;
	}
	if (time_ns < events->first_ns)
		events->first_ns = time_ns;
}

bool
events_add(struct events *events, struct slice key, uint64_t time_ns, uint32_t cost)
{
	uint32_t number = names_count(&events->names, key);

	if (number == UINT32_MAX)
		return false;
	events_note(events, time_ns);
	events_append(events, (struct event){time_ns, number, cost});
	return true;
}

uint32_t
events_spend(struct events *events, struct spending spending)
{
	events->spendings = array_grow(events->spendings, events->spending_count,
	                               &events->spending_room, sizeof(*events->spendings));
	events->spendings[events->spending_count] = spending;
	return (uint32_t)events->spending_count++;
}

struct spending
events_spending(const struct events *events, const struct event *event)
{
	if (events->spendings)
		return events->spendings[event->cost];
	return (struct spending){.estimate = event->cost, .actual = ACTUAL_UNKNOWN};
}

void
events_append(struct events *events, struct event event)
{
	if (events->count == 0)
		events->start_ns = event.time_ns;
	events->at = array_grow(events->at, events->count, &events->room, sizeof(*events->at));
	events->at[events->count++] = event;
}

static void
insert_sort(struct event *at, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct event event = at[i];
		size_t j = i;

		for (; j > 0 && at[j - 1].time_ns > event.time_ns; j--)
			at[j] = at[j - 1];
		at[j] = event;
	}
}

/*
 * Merge at[0, mid) and at[mid, count), each in order. What of the left is in its place stays there,
 * so that runs which hardly overlap, as those of rotated files, cost hardly more than a look.
 */
static void
merge(struct event *at, size_t mid, size_t count, struct event *left)
{
	size_t from = 0, held, i = 0, j = mid;

	if (at[mid - 1].time_ns <= at[mid].time_ns)
		return;
	while (at[from].time_ns <= at[mid].time_ns)
		from++;
	held = mid - from;
	memcpy(left, at + from, held * sizeof(*at));
	for (; i < held; from++)
		at[from] = j < count && at[j].time_ns < left[i].time_ns ? at[j++] : left[i++];
}

/* Upwards from runs of RUN, merged by twos: stable, in place but for the left of two runs. */
void
events_sort(struct events *events)
{
	size_t count = events->count;
	struct event *left;

	if (events->out_of_order == 0)
		return;
	left = need(reallocarray(NULL, count, sizeof(*left)));
	for (size_t at = 0; at < count; at += RUN)
		insert_sort(events->at + at, count - at < RUN ? count - at : RUN);
	for (size_t run = RUN; run < count; run *= 2)
		for (size_t at = 0; count - at > run; at += 2 * run) {
			size_t both = count - at < 2 * run ? count - at : 2 * run;

			merge(events->at + at, run, both, left);
			if (both < 2 * run)
				break;
		}
	free(left);
	events->start_ns = events->first_ns;
}

void
events_free(struct events *events)
{
	names_free(&events->names);
	free(events->spendings);
	free(events->at);
}
