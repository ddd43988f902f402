/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/local_time.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <time.h>

struct time_text
local_format(uint64_t unix_ns, int decimals, bool is_local)
{
	struct time_text out;
	time_t seconds = (time_t)(unix_ns / RL_SECOND);
	char fraction[16];
	struct tm tm;
	size_t used;

	if (is_local)
		localtime_r(&seconds, &tm);
	else
		gmtime_r(&seconds, &tm);
	used = strftime(out.text, sizeof(out.text), "%Y-%m-%d %H:%M:%S", &tm);
	if (decimals > 0) {
		snprintf(fraction, sizeof(fraction), ".%09" PRIu64, unix_ns % RL_SECOND);
		used += (size_t)snprintf(out.text + used, sizeof(out.text) - used, "%.*s",
		                         decimals + 1, fraction);
	}
	if (is_local)
		strftime(out.text + used, sizeof(out.text) - used, "%z", &tm);
	return out;
}

int64_t
local_east_ns(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / RL_SECOND);
	struct tm tm;

	localtime_r(&seconds, &tm);
	return (int64_t)tm.tm_gmtoff * (int64_t)RL_SECOND;
}
