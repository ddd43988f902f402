/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LIMIT_VIEW_H
#define RLCTL_LIMIT_VIEW_H

/* A limit in words, in JSON, and beside another one. */

#include <jansson.h>
#include <rl.h>
#include <stdbool.h>

struct limit_text {
	char text[160];
};

/* "sliding_window, 100 per 1m, 6 x 10s, hard". */
struct limit_text limit_format(const struct rl_limit *limit);

/* Length of a sub-bucket; the window where there are none. */
uint64_t limit_bucket_ns(const struct rl_limit *limit);

/* True if a counter of the one can be carried on by the other. */
bool limit_has_shape_of(const struct rl_limit *limit, const struct rl_limit *other);

json_t *json_limit(const struct rl_limit *limit);

#endif
