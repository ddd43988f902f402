/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_REFERENCE_H
#define TESTS_CLUSTER_REFERENCE_H

/*
 * What lending is, written down once more and without a store: the sum is added up each time, what
 * has expired is looked for each time. The script is compared with it, and the simulator of
 * policies has it for its store.
 */

#include <stdbool.h>
#include <stdint.h>

#define REFERENCE_HOSTS 320

struct reference_share {
	uint64_t share, seq, expires;
	bool is_there;
};

struct reference {
	struct reference_share of[REFERENCE_HOSTS];
	uint64_t gone; /* when all of it is forgotten, 0: it is */
	uint64_t short_at;
	int short_host; /* -1 nobody */
	int hosts;      /* those from here on have never asked */
	uint64_t called_at, room_at;
	bool has_called, has_told; /* since all was forgotten */
};

struct reference_ask {
	int host;
	uint64_t seq, want, need, limit, life, starve;
	bool is_short, is_call;
};

struct reference_answer {
	uint64_t share, sum, hosts, seq;
	bool other_starves;
	bool calls, tells_room; /* all other hosts hear of it, or not */
};

void reference_clear(struct reference *r);

/* Between two calls for a key, and between two words of room in it; in ms as the script has it. */
#define REFERENCE_CALL_MS 100
#define REFERENCE_ROOM_MS 20

/* All times are of one unit, of which `ms` are a millisecond. */
struct reference_answer reference_take(struct reference *r, const struct reference_ask *a,
                                       uint64_t now, uint64_t ms);

#endif
