/* SPDX-License-Identifier: BSD-2-Clause */
#include "rb_sleep.h"

#include <ruby.h>
#include <time.h>

static uint64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

void
rlr_sleep(struct rlr_sleep *sleep, struct rl_item *items, size_t count, const struct rl_result *r)
{
	uint64_t now_ns = monotonic_ns(), pause_ns = r->retry_after_ns;
	int is_last;

	if (sleep->end_ns == 0)
		sleep->end_ns = now_ns + r->delay_ns;
	is_last = now_ns + pause_ns >= sleep->end_ns;
	if (is_last)
		pause_ns = now_ns < sleep->end_ns ? sleep->end_ns - now_ns : 0;
	for (size_t i = 0; i < count; i++) {
		items[i].now_ns += pause_ns;
		items[i].flags &= is_last ? ~RLR_SLEEPS : ~0u;
	}
	rb_thread_wait_for((struct timeval){.tv_usec = (suseconds_t)(pause_ns / 1000)});
}
