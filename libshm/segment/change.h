/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CHANGE_H
#define RL_CHANGE_H

/*
 * A process keeps what it has read of rules, limits, quotas and of which patterns there are.
 * Whoever changes any of that says so before the first word that he writes, and again after the
 * last. Two numbers are enough:
 *
 *	begun   one more when a change begins
 *	over    one more when it has ended
 *
 * If both are the same, nobody is at it, and what is read then may be kept for as long as `begun`
 * stays. A decision that finds another `begun` reads anew; what it reads while they differ it uses
 * once and does not keep. So a change that has returned is in force in all processes, and one that
 * was killed half way costs time, and nothing else: `over` stays behind.
 *
 * Until somebody gives it up: whoever sweeps, if nothing has moved for a while. Then `over` is
 * brought up to `begun`, and `given up` counts. A process that was only stopped, and goes on, sees
 * that by `given up`, and ends as a change of its own: both numbers one more.
 *
 * A process that is stopped for as long as 2^16 are given up takes a late end for its own.
 */

#include "segment/segment.h"

/* A change under way. */
struct rl_change {
	const struct rl_segment *segment;
	uint64_t given_up;
};

/* All that a process keeps is of one version. Part of every decision. */
static inline uint64_t
rl_change_version(const struct rl_segment *s)
{
	return rl_atomic_load(&s->header->changes.lo);
}

/*
 * May what is read from now on be kept? Then *version is whose it is, if rl_change_version() still
 * says so after all was read, and a fence.
 */
bool rl_change_is_quiet(const struct rl_segment *s, uint64_t *version);

/* False: so many others change something that there was no turn; nothing has begun. */
bool rl_change_begin(const struct rl_segment *s, struct rl_change *change);

/* After the last word. If there is no turn, the change stays open, as one that was killed. */
void rl_change_end(const struct rl_change *change);

/*
 * Give up what was killed half way, if `seen` is how the words stood a while ago, and has open
 * changes; in any case *seen is how they stand now. True if something was given up.
 */
bool rl_change_give_up(const struct rl_segment *s, struct rl_u128 *seen);

#endif
