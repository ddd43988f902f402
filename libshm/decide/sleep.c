/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/sleep.h"

#include <time.h>

#include "decide/request.h"

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

bool
rl_sleep_on(struct rl_sleep *sleep, const struct rl *rl, struct rl_item *items, size_t count,
            const struct rl_result *result)
{
	uint64_t now_ns = rl_request_clock(rl), pause_ns = result->retry_after_ns;
	bool is_last;

	if (result->verdict != RL_DENIED || result->reason != RL_BY_SHARE || result->delay_ns == 0)
		return false;
	if (sleep->end_ns == 0)
		sleep->end_ns = now_ns + result->delay_ns;
	is_last = now_ns + pause_ns >= sleep->end_ns;
	if (is_last)
		pause_ns = now_ns < sleep->end_ns ? sleep->end_ns - now_ns : 0;
	nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL); /* below a second */
	make_next(items, count, pause_ns, is_last);
	return true;
}
