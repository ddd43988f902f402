/* SPDX-License-Identifier: BSD-2-Clause */
/* Seconds as Lua has them. What is text is read as by the other bindings: bindings/common. */
#include <errno.h>
#include <math.h>

#include "lrl.h"

/* To the nearest nanosecond; math.huge is never. */
int
lrl_parse_seconds(double seconds, uint64_t *ns)
{
	if (!(seconds >= 0))
		return -EINVAL;
	*ns = seconds < 1e10 ? (uint64_t)round(seconds * 1e9) : RL_NEVER_NS;
	return seconds < 1e10 || isinf(seconds) ? 0 : -EINVAL;
}
