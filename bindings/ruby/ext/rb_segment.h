/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLR_SEGMENT_H
#define RLR_SEGMENT_H

/* RL::Segment. */

#include <ruby.h>

#include "segment.h"

/* What a request is told that could not be decided. */
enum on_error {
	ON_ERROR_RAISE,
	ON_ERROR_ALLOW,
	ON_ERROR_DENY
};

struct segment {
	struct rlb_segment s;
	enum on_error on_error;
	int warned;          /* the trouble that was warned of last */
	unsigned references; /* the object, and each request that keeps its charges */
};

extern VALUE rlr_segment_class;

struct segment *rlr_segment(VALUE self); /* open, or it raises */
struct segment *rlr_segment_any(VALUE self);
void rlr_segment_drop(struct segment *segment); /* a reference; calls nothing of Ruby's */
void rlr_look(struct segment *segment);         /* open afterwards, or it raises */
NORETURN(void rlr_closed(void));

/*
 * Now, in the segment that has the name now. Arguments are read before it: to read one may run code
 * of Ruby, which may close the segment. So may a warning; then it raises.
 */
static inline uint64_t
rlr_now(struct segment *segment)
{
	uint64_t now_ns;

	if (RB_UNLIKELY(!segment->s.rl))
		rlr_closed();
	now_ns = rl_now(segment->s.rl);
	if (RB_UNLIKELY(now_ns >= segment->s.look_ns)) {
		rlr_look(segment);
		now_ns = rl_now(segment->s.rl);
	}
	return now_ns;
}

#endif
