/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FLOOD_LOG_H
#define RL_FLOOD_LOG_H

/*
 * An exact log of what one key was admitted under one limit, and whether that may be.
 *
 * A request comes with a clock `now`, which may be late, and is decided at the time `real`, the
 * latest that anybody's clock has shown. The promise: it counts at a time from `now` to `real`, not
 * before what the key was admitted earlier, and at these times the limit holds. Which time it is
 * cannot be seen from outside. So the log takes the earliest at which the limit holds. For each
 * limit here, what counts earlier leaves earlier; so if any choice of times keeps the promise, the
 * earliest ones do. A request without such a time up to `real` is an over-admission. By clocks that
 * are not late, `now` is `real`, and there is nothing to choose.
 *
 *	kind     holds at a time, with what was admitted
 *	SPAN     less than a window before it, all together <= capacity. `hard`, and sliding_log
 *	TWICE    the same, <= twice the capacity: anchored_window, around an end
 *	SOFT     in its own and the `granularity` sub-buckets before, the last by its remaining
 *	         share: what a counter of the key that is never evicted would have
 *	FIXED    in its own window, from one multiple to the next
 *	BUCKET   what is not back yet, one token each `window_ns`, <= capacity
 *
 * A debt asks nobody. It counts at a time from `now` on as well, and beside it nothing is admitted
 * that does not fit; but of TWICE no debt is noted, for it counts in one of two windows that stand
 * side by side, and nobody knows in which.
 */

#include <stdint.h>

#include "rl.h"

enum log_kind {
	LOG_SPAN,
	LOG_TWICE,
	LOG_SOFT,
	LOG_FIXED,
	LOG_BUCKET,
};

struct log_limit {
	enum log_kind kind;
	uint64_t capacity;  /* BUCKET: what it holds */
	uint64_t window_ns; /* BUCKET: in which one token comes */
	uint64_t width_ns;  /* SOFT */
	uint64_t granularity;
};

#define LOG_ENTRIES 96
#define LOG_DEBT UINT64_MAX

struct log_entry {
	uint64_t now_ns;
	uint64_t at_ns; /* when it counts */
	uint64_t cost;
	uint64_t capacity; /* by which it was admitted; LOG_DEBT: nobody was asked */
	uint64_t id;       /* the caller's, to take it back by; 0: a debt */
};

/* Empty when all is zero. What is dropped for want of room is forgiven. */
struct log {
	uint32_t count;
	uint64_t back_ns; /* BUCKET: when all is back */
	struct log_entry entry[LOG_ENTRIES];
};

/* The window of a bucket is to be a multiple of its capacity. */
struct log_limit log_limit_of(const struct rl_limit *limit);

/* Note an admission. 0: it is one too many; the log is then empty, so that it is told once. */
int log_admit(struct log *log, const struct log_limit *limit, uint64_t now_ns, uint64_t real_ns,
              uint64_t cost, uint64_t id);

/* Of an admission some was given back, and so much of it counts still. */
void log_take_back(struct log *log, const struct log_limit *limit, uint64_t real_ns, uint64_t id,
                   uint64_t stays);

/* A debt, of a clock `now_ns`. */
void log_owe(struct log *log, const struct log_limit *limit, uint64_t now_ns, uint64_t cost);

void log_forget(struct log *log);

#endif
