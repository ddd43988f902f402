/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_TIMES_H
#define RLD_STORE_TIMES_H

/* How long answers took: how many up to each bound, and longer than the one before. */

#include <stdint.h>

#define STORE_BOUNDS 11
extern const uint64_t store_bounds_ns[STORE_BOUNDS];

struct store_times {
	uint64_t counts[STORE_BOUNDS + 1]; /* the last: longer than all */
	uint64_t sum_ns;
};

void store_times_add(struct store_times *t, uint64_t ns);

/* Those of `more`, too. */
void store_times_join(struct store_times *t, const struct store_times *more);

struct store_counts {
	uint64_t asked, answered, unanswered, refused; /* refused: -EAGAIN */
	uint64_t redirected, reloaded;                 /* followed; for want of a script */
	uint64_t sent, received;                       /* bytes */
	struct store_times times;                      /* late answers among them */
};

#endif
