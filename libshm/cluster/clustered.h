/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CLUSTERED_H
#define RL_CLUSTERED_H

#include <errno.h>

#include "rule/handle.h"

/* May limits of the segment be of a cluster? */
static inline bool
rl_is_clustered(const struct rl *rl)
{
	return rl->segment.geometry.clustered != 0;
}

static inline int
rl_cluster_may_write(const struct rl *rl)
{
	if (!rl_is_clustered(rl))
		return RL_ECLUSTER;
	return rl->segment.is_writable ? 0 : -EROFS;
}

#endif
