/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SETS_H
#define RL_SETS_H

/*
 * Whose overflow counters are whose. The overflow area has a few sets of counters; a limit has a
 * run of 1, 2, 4 ... of them, side by side, while keys of it have no slot, and for a buffer after
 * the last of these counts.
 *
 *	row.overflow_set   index + 1:16 | log2 of sets:4 | serial:24   where the limit's run is
 *	set[index]         until:64 | owner:64       owner: limit:10 | incarnation:20 | serial:24
 *
 * A set is the limit's if its row says so, and both agree. To take a run:
 *
 *	sets   CAS16 each from one that is vacant to { now, this limit, serial }, a serial that none
 *	       of them has had; if one is another's by now, they are given back
 *	row    CAS from what had no set left to { index, sets, serial }; if it fails, they are, too
 *
 * How many: as many as leave two sets, or else one, for each limit that has none and may come, and
 * for one more; one in any case. A run does not grow. While one of its sets is the limit's no other
 * is taken, for what is counted there would be forgotten.
 *
 * Vacant is what was never taken, whose limit started anew, or whose `until` and the buffer are
 * over: then no overflow counter of it counts anything. Each set has its own `until`, so part of a
 * run may become another limit's. A key is counted in the set that its index chooses, or if that is
 * lost in the next one, the number of sets passed over being an exclusive or: what is lost stays
 * lost, and the key had nothing there. Who is killed between both steps leaves sets that are vacant
 * after the buffer.
 *
 * Before an overflow counter is written, `until` is brought up to when it will count nothing: first
 * the overflow area's, which says to all others that there is something to look for, then the
 * set's, by a CAS16 that fails if the set has become another's. So the area's is never before a
 * set's, whose first one is the time of who takes it: what is folded there may count for clocks
 * that are behind that, and they ask the area. Overflow counters have the lowest 8 bits of the
 * serial: those of another one count nothing, so a set that was taken is empty at once. Whoever
 * slept meanwhile, for longer than a window and the buffer, writes an overflow counter that nobody
 * believes, or finds it changed.
 */

#include "rule/rules.h"

/* A set of a limit, as it was seen. */
struct rl_set {
	struct rl_u128 *at;
	struct rl_u128 *counters;
	uint64_t owner;
};

static inline uint8_t
rl_set_serial(const struct rl_set *set)
{
	return (uint8_t)(set->owner >> RL_SET_SERIAL_SHIFT);
}

/* Does any overflow counter count anything, at now_ns or later? Part of many decisions. */
static inline bool
rl_sets_are_used(const struct rl_segment *s, uint64_t now_ns)
{
	return s->geometry.cells > 0 && now_ns < rl_atomic_load(s->overflow_until);
}

/* Counters of a run at most: more an index does not tell apart. */
#define RL_SETS_COUNTERS_MAX (UINT64_C(1) << 26)

/* That of the limit's that has the counter of that index, if it has any. */
bool rl_sets_find(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
                  struct rl_set *set);

/* The same, taken if need be. 0; -ENOSPC none is vacant, or the limit has started anew; -EAGAIN. */
int rl_sets_take(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
                 uint64_t now_ns, struct rl_set *set);

/* How many sets its run has or had; and one of them, if it still is the limit's. */
uint32_t rl_sets_count(const struct rl_segment *s, const struct rl_compiled *limit);
bool rl_sets_nth(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t number,
                 struct rl_set *set);

/* Would it find one? Writes nothing. */
bool rl_sets_could_take(const struct rl_segment *s, const struct rl_compiled *limit,
                        uint64_t now_ns);

/*
 * Its overflow counters count something until then, at most. False: it is another's by now, or
 * others are quicker.
 */
bool rl_sets_raise(const struct rl_segment *s, const struct rl_set *set, uint64_t until_ns);

/* Until when; 0 if the set is another's by now. */
uint64_t rl_sets_until(const struct rl_set *set);

/* What is counted in the limit's overflow counters is forgotten. 0 or -EBUSY. */
int rl_sets_forget(const struct rl_segment *s, int limit);

#endif
