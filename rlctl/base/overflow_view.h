/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OVERFLOW_VIEW_H
#define RLCTL_OVERFLOW_VIEW_H

/*
 * The limits that have keys without a slot now, which are counted together in overflow counters: in
 * words and in JSON.
 */

#include <jansson.h>
#include <rl_admin.h>
#include <stddef.h>

struct overflow_view {
	struct rl_overflow_info *limits;
	uint64_t cells; /* that they have */
	size_t count, room;
	uint64_t used, full; /* overflow counters of all of them */
	uint32_t denied_ppm; /* of the limit that has most */
};

struct denied_text {
	char text[16];
};

/* "3.25 %": how many of a limit's keys without a slot are denied for what others have used. */
struct denied_text overflow_denied(uint32_t denied_ppm);

/* Of one rule, or all for RL_ANY_RULE. To be freed. */
struct overflow_view overflow_view_read(struct rl *rl, int rule, uint64_t now_ns);
void overflow_view_free(struct overflow_view *view);

/*
 * One line without its end, in so many columns at most: "keys without a slot: 12 overflow counters,
 * 3 full, of login (1.25 % denied), api(2)". NULL if there are none. To be freed.
 */
char *overflow_view_line(struct rl *rl, const struct overflow_view *view, size_t columns);

/* An array with an object for each limit. */
json_t *overflow_view_json(struct rl *rl, const struct overflow_view *view);

#endif
