/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NO_OVERFLOW_H
#define RL_NO_OVERFLOW_H

/* What decide.c asks of overflow counters, and of who may claim a slot, for tests without them. */

bool
rl_evict_may_claim(rl_opened *, const rl_compiled *, const rl_candidates *, rl_budget *, uint64_t)
{
	return true;
}

bool
rl_without_slot_at_once(const rl_part *, int *)
{
	return false;
}

int
rl_without_slot_charge(const rl_part *)
{
	return -ENOSPC;
}

bool
rl_without_slot_peek(const rl_part *, int *)
{
	return false;
}

bool
rl_without_slot_is_refused(const rl_part *)
{
	return false;
}

bool
rl_without_slot_is_asked(const rl_part *, rl_slot)
{
	return false;
}

bool
rl_without_slot_over(const rl_part *, rl_slot, int *)
{
	return true;
}

#endif
