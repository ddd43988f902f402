/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_SWEEPER_H
#define RLD_SWEEPER_H

/*
 * The sweep, a slice at a time.
 *
 *	one pass over the table, in `interval_ns` (or less when the table is full)
 *	|--|          |--|          |--|          |--|          |--|          |--|
 *	slice   gap         gap
 *
 * A slice ends after SWEEPER_SLICE_NS of computing. The gap behind it is the share of the
 * interval that what it has seen is of the table, and never shorter than the rest that keeps the
 * sweep below its part of a core: a pass over a large table may take longer than the interval.
 * What is known from earlier passes is only a matter of pace: a sweeper that is killed anywhere,
 * and another that starts at slot 0, lose nothing.
 */

#include <rl_admin.h>

#include "loop/limited.h"

/* As long as one slice may keep a core: too short to be noticed, long beside a wakeup. */
#define SWEEPER_SLICE_NS (200 * UINT64_C(1000))

/* Slots between two looks at the clock; each costs some ns when free, some 100 when used. */
#define SWEEPER_STEP 1024

/*
 * A slice is followed by a rest of so many times its length, divided by the haste: 0.8 % of a
 * core, which with the wakeups is below 1 %.
 */
#define SWEEPER_REST 124

struct sweeper {
	struct rl *rl;
	uint64_t interval_ns;
	uint64_t slots;
	uint64_t at;     /* the next slot to look at */
	uint64_t due_ns; /* when it is due, monotonic */

	struct rl_swept pass;   /* of the pass under way */
	struct limited limited; /* so far in it */
	uint64_t used;          /* at the end of the pass before */
	struct limited denied;  /* the same: keys that were limited in it */

	/* Since the start, for reports. */
	struct rl_swept ended; /* in the passes that have ended */
	uint64_t passes;
	uint64_t cpu_ns;
	uint64_t longest_ns; /* slice */
};

/* Begin at `now_ns`, as clock_monotonic_ns(). */
void sweeper_start(struct sweeper *s, struct rl *rl, uint64_t interval_ns, uint64_t now_ns);

/* From now on so; what was put off for longer is due at once. */
void sweeper_set_interval(struct sweeper *s, uint64_t interval_ns, uint64_t now_ns);

/* Sweep a slice if it is due. Returns when the next one is. */
uint64_t sweeper_run(struct sweeper *s, uint64_t now_ns);

/* How many slots are used: this pass's count, and the last one's where this has not been. */
uint64_t sweeper_used(const struct sweeper *s);

/* Sums of all slices since the start. */
struct rl_swept sweeper_total(const struct sweeper *s);

void sweeper_end(struct sweeper *s);

/* How many times faster than `interval_ns` a table is swept that is filled so far. */
unsigned sweeper_haste(uint64_t used, uint64_t slots);

#endif
