/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RESERVE_VIEW_H
#define RLCTL_RESERVE_VIEW_H

/* The limits that have keys without a slot now, which are counted together in cells: in words and in JSON. */

#include <jansson.h>
#include <rl_admin.h>
#include <stddef.h>

struct reserve_view {
	struct rl_reserve_info *limits;
	size_t count, room;
	uint64_t used, full; /* cells of all of them */
};

/* Of one rule, or all for RL_ANY_RULE. To be freed. */
struct reserve_view reserve_view_read(struct rl *rl, int rule, uint64_t now_ns);
void reserve_view_free(struct reserve_view *view);

/*
 * One line without its end, in so many columns at most: "keys without a slot: 12 cells, 3 full, of login, api(2)".
 * NULL if there are none. To be freed.
 */
char *reserve_view_line(struct rl *rl, const struct reserve_view *view, size_t columns);

/* An array with an object for each limit. */
json_t *reserve_view_json(struct rl *rl, const struct reserve_view *view);

#endif
