/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about each algorithm, without its arithmetic. */
#include "rl.h"

/* A row is the struct's fields behind its size. */
#define ROW(...)                                              \
	{                                                     \
		sizeof(struct rl_algorithm_info), __VA_ARGS__ \
	}

static const struct rl_algorithm_info algorithms[] = {
	[RL_SLIDING_WINDOW] =
		ROW("sliding_window", "Counts the sub-buckets of the window, the oldest in part.",
                    RL_IS_WINDOW | RL_HAS_GRANULARITY | RL_HAS_PREFETCH, RL_CAPACITY_MAX, 0),
	[RL_FIXED_WINDOW] =
		ROW("fixed_window", "Counts from one multiple of the window to the next.",
                    RL_IS_WINDOW | RL_HAS_PREFETCH | RL_HAS_COUNT_DENIED, RL_CAPACITY_MAX, 0),
	[RL_SLIDING_LOG] = /* two entries for each unit: log.h says why */
	ROW("sliding_log", "Remembers the time of each unit until it is a window old.", 0,
            RL_LOG_MAX, 2),
	[RL_TOKEN_BUCKET] =
		ROW("token_bucket", "Takes tokens from a bucket that fills evenly.",
                    RL_IS_BUCKET | RL_HAS_BURST | RL_BURST_IS_CAPACITY, RL_CAPACITY_MAX, 0),
	[RL_LEAKY_BUCKET] =
		ROW("leaky_bucket", "Lets requests through evenly, some of them after a delay.",
                    RL_IS_BUCKET | RL_HAS_BURST | RL_HAS_UNDELAYED, RL_CAPACITY_MAX, 0),
	[RL_ANCHORED_WINDOW] = ROW("anchored_window",
                                   "Counts from a key's first request until the window is over.",
                                   RL_IS_WINDOW | RL_HAS_COUNT_DENIED, RL_CAPACITY_MAX, 0),
	[RL_IN_FLIGHT] =
		ROW("in_flight", "Counts what is held, until it is given back or its holder ends.",
                    RL_IS_HELD, RL_IN_FLIGHT_MAX, 0),
};

const struct rl_algorithm_info *
rl_algorithm_info(enum rl_algorithm algorithm)
{
	unsigned number = (unsigned)algorithm;

	if (number >= sizeof(algorithms) / sizeof(algorithms[0]) || !algorithms[number].name)
		return NULL;
	return &algorithms[number];
}
