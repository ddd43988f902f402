/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LEASE_VIEW_H
#define RLCTL_LEASE_VIEW_H

/* Whether what is lent to a segment of a cluster counts, and for how long without news. */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/output.h"

struct lease_view {
	bool is_clustered; /* else the rest says nothing */
	uint64_t left_ns;  /* 0: each limit goes on as its 'away' says */
	uint32_t hosts;    /* that share; 0: not known */
};

struct lease_view lease_view_read(const struct rl *rl, uint64_t now_ns);

/* null: the segment is of no cluster. */
json_t *lease_view_json(const struct lease_view *lease);

#endif
