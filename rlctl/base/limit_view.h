/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LIMIT_VIEW_H
#define RLCTL_LIMIT_VIEW_H

/* A limit in words and in JSON. */

#include <jansson.h>
#include <rl_admin.h>

struct limit_text {
	char text[192];
};

/* "sliding_window, 100 per 1m, 6 x 10s, hard". */
struct limit_text limit_format(const struct rl_limit *limit);

struct blind_text {
	char text[12];
};

/* Of a limit of the cluster: "5", or "auto". */
struct blind_text limit_blind_text(const struct rl_limit *limit);

json_t *json_limit(const struct rl_limit *limit);

#endif
