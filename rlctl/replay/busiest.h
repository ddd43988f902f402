/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_BUSIEST_H
#define RLCTL_REPLAY_BUSIEST_H

/*
 * The most that each key has ever asked for within a window (t - window, t]: what a sliding log of
 * that capacity never denies it. In one pass of each key's requests, which stand together:
 *
 *	first    0        3     5          by key: where its requests begin in `order`
 *	order    0  2  7  1  4  3 ...      numbers of requests, those of a key in their order
 */

#include "replay/events.h"

struct busiest {
	uint64_t window_ns;
	const struct events *events; /* in order */
	size_t *first;               /* one more than there are keys */
	uint32_t *order;
	uint64_t *most;    /* by key */
	uint64_t *most_ns; /* by key: when that window ended */
};

/* False after a message. */
bool busiest_find(struct busiest *busiest);

/* How many requests, of how many keys, a sliding log of that capacity denies. */
struct busiest_denied {
	uint64_t requests, keys;
};
struct busiest_denied busiest_deny(const struct busiest *busiest, uint64_t capacity);

void busiest_free(struct busiest *busiest);

#endif
