/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/busiest.h"

#include <stdlib.h>

#include "base/output.h"

/* Count by key, add up, and put each request where its key's next one belongs. */
static void
group(struct busiest *busiest)
{
	const struct events *events = busiest->events;
	size_t keys = events->names.count, *next;

	for (size_t i = 0; i < events->count; i++)
		busiest->first[events->at[i].key + 1]++;
	for (size_t i = 0; i < keys; i++)
		busiest->first[i + 1] += busiest->first[i];
	next = need(reallocarray(NULL, keys + 1, sizeof(*next)));
	memcpy(next, busiest->first, keys * sizeof(*next));
	for (size_t i = 0; i < events->count; i++)
		busiest->order[next[events->at[i].key]++] = (uint32_t)i;
	free(next);
}

static const struct event *
event_at(const struct busiest *busiest, size_t i)
{
	return &busiest->events->at[busiest->order[i]];
}

static void
find(struct busiest *busiest, size_t key)
{
	size_t oldest = busiest->first[key];
	uint64_t used = 0;

	for (size_t i = oldest; i < busiest->first[key + 1]; i++) {
		const struct event *event = event_at(busiest, i);

		used += event->cost;
		while (event->time_ns - event_at(busiest, oldest)->time_ns >= busiest->window_ns)
			used -= event_at(busiest, oldest++)->cost;
		if (used > busiest->most[key]) {
			busiest->most[key] = used;
			busiest->most_ns[key] = event->time_ns;
		}
	}
}

bool
busiest_find(struct busiest *busiest)
{
	size_t keys = busiest->events->names.count;

	if (busiest->events->count > UINT32_MAX) {
		complain("%zu requests are too many", busiest->events->count);
		return false;
	}
	busiest->first = need(calloc(keys + 1, sizeof(*busiest->first)));
	busiest->order = need(calloc(busiest->events->count + 1, sizeof(*busiest->order)));
	busiest->most = need(calloc(keys + 1, sizeof(*busiest->most)));
	busiest->most_ns = need(calloc(keys + 1, sizeof(*busiest->most_ns)));
	group(busiest);
	for (size_t i = 0; i < keys; i++)
		find(busiest, i);
	return true;
}

/* `admitted` has room for all of the key's requests. */
static uint64_t
deny_key(const struct busiest *busiest, size_t key, uint64_t capacity,
         const struct event **admitted)
{
	size_t count = 0, oldest = 0;
	uint64_t used = 0, denied = 0;

	for (size_t i = busiest->first[key]; i < busiest->first[key + 1]; i++) {
		const struct event *event = event_at(busiest, i);

		for (; oldest < count &&
		       event->time_ns - admitted[oldest]->time_ns >= busiest->window_ns;
		     oldest++)
			used -= admitted[oldest]->cost;
		if (used + event->cost > capacity) {
			denied++;
			continue;
		}
		used += event->cost;
		admitted[count++] = event;
	}
	return denied;
}

/* Only a key whose busiest window holds more is ever denied. */
struct busiest_denied
busiest_deny(const struct busiest *busiest, uint64_t capacity)
{
	struct busiest_denied denied = {0};
	const struct event **admitted =
		need(reallocarray(NULL, busiest->events->count + 1, sizeof(*admitted)));

	for (size_t i = 0; i < busiest->events->names.count; i++) {
		if (busiest->most[i] <= capacity)
			continue;
		denied.keys++;
		denied.requests += deny_key(busiest, i, capacity, admitted);
	}
	free(admitted);
	return denied;
}

void
busiest_free(struct busiest *busiest)
{
	free(busiest->first);
	free(busiest->order);
	free(busiest->most);
	free(busiest->most_ns);
}
