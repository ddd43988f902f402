/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/settling.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/output.h"
#include "text/error_text.h"

uint32_t
settling_place(struct settling *settling)
{
	size_t count = settling->candidate_count;

	if (settling->free_count > 0)
		return settling->free[--settling->free_count];
	settling->charges = array_grow(settling->charges, settling->places, &settling->room,
	                               count * sizeof(*settling->charges));
	return (uint32_t)settling->places++;
}

struct rl_charges *
settling_charges(struct settling *settling, uint32_t place, size_t candidate)
{
	return &settling->charges[place * settling->candidate_count + candidate];
}

void
settling_add(struct settling *settling, uint32_t place, uint64_t time_ns, uint32_t actual)
{
	waiting_add(&settling->due, (struct event){time_ns, place, actual});
}

static bool
settle(struct settling *settling, const struct event *due)
{
	for (size_t i = 0; i < settling->candidate_count; i++) {
		const struct candidate *candidate = &settling->candidates[i];
		struct rl_charges *charges = settling_charges(settling, due->key, i);
		int error;

		charges->now_ns = candidate->start_ns + due->time_ns;
		error = charges->count > 0 ? rl_settle(candidate->rl, charges, due->cost) : 0;
		if (error >= 0)
			continue;
		complain("%s: a request cannot be settled: %s", candidate->label,
		         error_text(error).text);
		return false;
	}
	return true;
}

bool
settling_until(struct settling *settling, uint64_t now_ns)
{
	while (settling->due.count > 0 && settling->due.at[0].event.time_ns <= now_ns) {
		struct event due = waiting_take(&settling->due);

		if (!settle(settling, &due))
			return false;
		settling->free = array_grow(settling->free, settling->free_count,
		                            &settling->free_room, sizeof(*settling->free));
		settling->free[settling->free_count++] = due.key;
	}
	return true;
}

void
settling_free(struct settling *settling)
{
	free(settling->due.at);
	free(settling->charges);
	free(settling->free);
	*settling = (struct settling){.candidates = settling->candidates,
	                              .candidate_count = settling->candidate_count};
}
