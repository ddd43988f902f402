/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_RUN_H
#define RLCTL_REPLAY_RUN_H

#include <rl.h>

#include "replay/replay_chart.h"
#include "replay/replay_events.h"

struct replay {
	struct rl_limit limit;
	bool is_from_first; /* time 0 is the first request's, not 1970 */
	struct events events;

	uint64_t admitted;
	uint64_t denied;
	uint64_t keys_denied;
	struct chart chart; /* has no row if there was no request */
};

/* Decide every request by the library; false after a message. */
bool replay_run(struct replay *replay);

#endif
