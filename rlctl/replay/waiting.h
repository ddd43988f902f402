/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_WAITING_H
#define RLCTL_REPLAY_WAITING_H

/*
 * Requests that wait for their turn: a heap, the earliest on top; of one time, the first that came.
 */

#include "replay/events.h"

struct waiting_event {
	struct event event;
	uint64_t turn;
};

struct waiting {
	struct waiting_event *at;
	size_t count, room;
	uint64_t turns;
};

void waiting_add(struct waiting *waiting, struct event event);

/* Of one that is not empty. */
struct event waiting_take(struct waiting *waiting);

#endif
