/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SHARE_VIEW_H
#define RLCTL_SHARE_VIEW_H

/* This host's share of a key's capacity under a limit of the cluster. */

#include <stdio.h>

#include "base/lease_view.h"

struct share_view {
	struct lease_view lease;
	uint32_t share;
	uint32_t blind; /* as it is now, where it is automatic */
};

/* `entry`: the key's under that limit, or NULL if nothing is counted there. */
struct share_view share_view_read(struct rl *rl, const struct rl_entry *entry, uint64_t now_ns);

void share_view_print(FILE *out, const struct share_view *share, const struct rl_limit *limit);
json_t *share_view_json(const struct share_view *share);

#endif
