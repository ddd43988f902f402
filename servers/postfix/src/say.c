/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "policyd.h"

#define EVERY_MS 1000

uint64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Whether the line is to be left out; the next that is not says how many were. */
static bool
is_too_often(enum kind kind, unsigned *left_out)
{
	static struct {
		uint64_t next_ms;
		unsigned count;
	} kinds[SAY_KINDS];
	uint64_t now_ms = clock_ms();

	*left_out = 0;
	if (kind == SAY_ALWAYS)
		return false;
	if (now_ms < kinds[kind].next_ms) {
		kinds[kind].count++;
		return true;
	}
	*left_out = kinds[kind].count;
	kinds[kind].count = 0;
	kinds[kind].next_ms = now_ms + EVERY_MS;
	return false;
}

void
say(enum kind kind, const char *format, ...)
{
	unsigned left_out;
	va_list args;

	if (is_too_often(kind, &left_out))
		return;
	fputs("rl-policyd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (left_out > 0)
		fprintf(stderr, " (and %u more like it)", left_out);
	fputc('\n', stderr);
}
