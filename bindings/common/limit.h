/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_LIMIT_H
#define RLB_LIMIT_H

/*
 * A limit from fields with names, as a hash or an array of a language has them. Names, meanings and
 * defaults are those of a rule in rl.json(5): without a granularity a sliding_window has about 60
 * sub-buckets and is hard.
 */

#include "values.h"

#pragma GCC visibility push(hidden)

struct rlb_limit {
	struct rl_limit limit;
	uint64_t given;   /* a bit for each field of the list that was set */
	uint64_t step_ns; /* length of a sub-bucket; 0: their number was given, or nothing */
};

/* Store one field. 0, or -EINVAL: `text` is then a sentence that names the field. */
int rlb_limit_set(struct rlb_limit *l, const char *field, size_t field_len,
                  const struct rlb_value *value, char text[RLB_TEXT_SIZE]);

/*
 * Fill in what was left out, for a segment whose ring has so many entries. 0, or -EINVAL and a text
 * as above. Ranges are for rl_rule_check().
 */
int rlb_limit_finish(struct rlb_limit *l, uint32_t ring, char text[RLB_TEXT_SIZE]);

/* The number of sub-buckets of a window that nothing is said of. */
uint32_t rlb_granularity(uint64_t window_ns, uint32_t ring);

#pragma GCC visibility pop

#endif
