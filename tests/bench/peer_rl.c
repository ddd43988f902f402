/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "open.h"
#include "peer.h"

static struct rl *rl;
static int rule[PEER_LIMITS];

static const char *
start(void)
{
	rl = bench_open(&(struct rl_options){.keys = (uint32_t)peer_keys * 2, .ring = 1}, false);
	for (int i = 0; i < PEER_LIMITS; i++)
		rule[i] = bench_define(rl, peer_limits[i].name,
		                       &(struct rl_limit){.capacity = peer_limits[i].capacity,
		                                          .window_ns = peer_limits[i].window_ns});
	return NULL;
}

static void
check(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	struct rl_result r;

	for (size_t i = 0; i < count; i++)
		admitted[i] =
			rl_check(rl, rule[limit], keys[i], strlen(keys[i]), 1, &r) == RL_ALLOWED;
}

const struct peer peer_rl = {"rl", "rl", start, check, 1, 200000, true};
