/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/output.h"

static void
write_time(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / RL_SECOND);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	printf("%04d-%02d-%02dT%02d:%02d:%02d.%09" PRIu64 "Z", tm.tm_year + 1900, tm.tm_mon + 1,
	       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, unix_ns % RL_SECOND);
}

static void
write_result(const struct rl_result *result)
{
	static const char *const names[] = {
		[RL_ALLOWED] = "allowed",
		[RL_DENIED] = "denied",
		[RL_NEVER] = "never",
		[RL_UNDECIDED] = "undecided",
	};

	printf("\t%s\t", names[result->verdict]);
	if (result->reason == RL_BY_BAN)
		fputs("ban", stdout);
	else if (result->verdict == RL_DENIED || result->verdict == RL_NEVER)
		printf("%u", result->index + 1);
	else
		putchar('-');
	printf("\t%" PRIu64, result->delay_ns / RL_SECOND);
	if (result->delay_ns % RL_SECOND)
		printf(".%09" PRIu64, result->delay_ns % RL_SECOND);
}

void
verdicts_write(const struct event *event, const struct name *name, const struct rl_result *results,
               size_t count)
{
	write_time(event->time_ns);
	putchar('\t');
	output_bytes(stdout, name->bytes, name->len);
	for (size_t i = 0; i < count; i++)
		write_result(&results[i]);
	putchar('\n');
}
