/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_RUN_H
#define RLCTL_REPLAY_RUN_H

/*
 * Let every candidate decide every request, in the order in which they stand, by the library.
 *
 * A key's verdicts depend on no other key's, so tables are for as many keys as fit TABLE_BYTES_MAX,
 * and the requests are passed as often as there are such groups of keys: memory stays bounded for
 * any limit. Where keys share counters (networks), or verdicts are wanted in their order, one table
 * has all keys.
 */

#include "replay/candidate.h"
#include "replay/events.h"
#include "replay/settling.h"

#define TABLE_BYTES_MAX (UINT64_C(192) << 20)

struct run {
	const struct events *events;
	struct candidate *candidates;
	size_t candidate_count;
	bool is_from_first;  /* time 0 is the first request's, not 1970 */
	bool wants_verdicts; /* write a line for each request */
	struct settling settling;
	int64_t east_ns; /* of the zone whose round times the charts have */

	/* of run_live() */
	size_t key_room; /* keys that the tables are for */
	size_t decided;  /* requests */
	size_t reported; /* of them, those whose lines are written */
};

/* Decide all. False after a message. Outcomes are begun anew. */
bool run_all(struct run *run);

/* Decide those that have come since the last time. There is no outcome but the lines. */
bool run_live(struct run *run);
void run_end(struct run *run);

#endif
