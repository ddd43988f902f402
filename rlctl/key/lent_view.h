/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LENT_VIEW_H
#define RLCTL_LENT_VIEW_H

/* This host's share of a key's capacity under a limit of the cluster. */

#include <stdio.h>

#include "base/lease_view.h"

struct lent_view {
	struct lease_view lease;
	uint32_t share;
};

/* `entry`: the key's under that limit, or NULL if nothing is counted there. */
struct lent_view lent_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns);

void lent_view_print(FILE *out, const struct lent_view *lent, const struct rl_limit *limit);
json_t *lent_view_json(const struct lent_view *lent);

#endif
