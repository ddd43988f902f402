/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/rate.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>

/* In tenths of a unit, rounded to nearest. */
static uint64_t
tenths_per_second(uint64_t count, uint64_t span_ns)
{
	return (uint64_t)(((unsigned __int128)count * 10 * RL_SECOND + span_ns / 2) / span_ns);
}

struct rate_text
rate_format(uint64_t count, uint64_t span_ns)
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	uint64_t tenths = span_ns > 0 ? tenths_per_second(count, span_ns) : 0;
	struct rate_text out = {"0"};
	size_t unit = 0;

	for (; tenths >= 9995 && unit < 4; unit++)
		tenths = (tenths + 500) / 1000;
	if (tenths >= 1000)
		snprintf(out.text, sizeof(out.text), "%" PRIu64 "%s/s", (tenths + 5) / 10,
		         units[unit]);
	else if (tenths > 0)
		snprintf(out.text, sizeof(out.text), "%" PRIu64 ".%" PRIu64 "%s/s", tenths / 10,
		         tenths % 10, units[unit]);
	return out;
}
