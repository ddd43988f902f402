/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/waiting.h"

#include "base/array.h"

static bool
is_before(const struct waiting_event *a, const struct waiting_event *b)
{
	if (a->event.time_ns != b->event.time_ns)
		return a->event.time_ns < b->event.time_ns;
	return a->turn < b->turn;
}

void
waiting_add(struct waiting *waiting, struct event event)
{
	struct waiting_event added = {event, waiting->turns++};
	size_t i = waiting->count;

	waiting->at = array_grow(waiting->at, waiting->count, &waiting->room, sizeof(*waiting->at));
	for (; i > 0 && is_before(&added, &waiting->at[(i - 1) / 2]); i = (i - 1) / 2)
		waiting->at[i] = waiting->at[(i - 1) / 2];
	waiting->at[i] = added;
	waiting->count++;
}

struct event
waiting_take(struct waiting *waiting)
{
	struct event first = waiting->at[0].event;
	struct waiting_event last = waiting->at[--waiting->count];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < waiting->count; i = child) {
		if (child + 1 < waiting->count &&
		    is_before(&waiting->at[child + 1], &waiting->at[child]))
			child++;
		if (!is_before(&waiting->at[child], &last))
			break;
		waiting->at[i] = waiting->at[child];
	}
	waiting->at[i] = last;
	return first;
}
