/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/sleep.h"

#include <time.h>

#include "decide/request.h"
#include "shared/lesser.h"

#define LATER (unsigned)(RL_ITEM_WAITS | RL_ITEM_SLEEPS)

/* A time that the caller has said goes on; the last try is one of who does not come again. */
static void
make_next(struct rl_item *items, size_t count, uint64_t passed_ns, bool is_last)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i].now_ns > 0)
			items[i].now_ns += passed_ns;
		if (is_last)
			items[i].flags &= ~LATER;
	}
}

/*
 * What is left of it. A call takes longer than it sleeps, and a clock may stand still or go back:
 * then what it has slept ends it.
 */
static uint64_t
left_of(const struct rl_sleep *sleep, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > sleep->began_ns ? now_ns - sleep->began_ns : 0;

	if (passed_ns < sleep->slept_ns)
		passed_ns = sleep->slept_ns;
	return sleep->whole_ns > passed_ns ? sleep->whole_ns - passed_ns : 0;
}

bool
rl_sleep_on(struct rl_sleep *sleep, const struct rl *rl, struct rl_item *items, size_t count,
            const struct rl_result *result)
{
	uint64_t now_ns = rl_request_clock(rl), left_ns, pause_ns;

	if (result->verdict != RL_DENIED || result->reason != RL_BY_SHARE || result->delay_ns == 0)
		return false;
	if (sleep->whole_ns == 0)
		*sleep = (struct rl_sleep){.whole_ns = result->delay_ns, .began_ns = now_ns};
	left_ns = left_of(sleep, now_ns);
	pause_ns = rl_lesser_u64(result->retry_after_ns, left_ns);
	nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL); /* below a second */
	sleep->slept_ns += pause_ns;
	make_next(items, count, pause_ns, pause_ns == left_ns);
	return true;
}
