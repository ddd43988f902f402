/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/clock.h"

#include "segment/namespace.h"

uint64_t
rl_clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

uint64_t
rl_segment_now(const struct rl_segment *s)
{
	return rl_clock_ns(CLOCK_BOOTTIME) + s->unix_offset_ns;
}

/* The segment's clock is the creator's, who may be in another time namespace. */
int
rl_segment_follow_clock(struct rl_segment *s, const struct rl_header *checked)
{
	struct rl_time_namespace mine = rl_namespace_time();
	struct rl_time_namespace theirs = {checked->time_namespace, checked->clock_shift_ns};
	uint64_t shift_ns;

	if (!rl_namespace_shift(&mine, &theirs, &shift_ns))
		return RL_ECLOCK;
	s->unix_offset_ns = checked->unix_offset_ns + shift_ns;
	/*
	 * Nothing tells which namespace this is: the wall clock, which has no namespace, is asked.
	 */
	if (mine.id == 0 && theirs.id != 0 &&
	    !rl_namespace_clocks_agree(rl_segment_now(s), rl_clock_ns(CLOCK_REALTIME)))
		return RL_ECLOCK;
	return 0;
}
