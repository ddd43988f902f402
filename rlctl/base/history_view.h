/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_HISTORY_VIEW_H
#define RLCTL_HISTORY_VIEW_H

/* A rule's last hour and day, as people see it. */

#include <jansson.h>
#include <rl_admin.h>
#include <stdbool.h>

struct history_view {
	size_t minutes; /* in minute[]; 0: it could not be read */
	size_t quarters;
	struct rl_history_span minute[RL_HISTORY_MINUTES];
	struct rl_history_span quarter[RL_HISTORY_QUARTERS];
};

void history_view_read(struct rl *rl, int rule, uint64_t now_ns, struct history_view *view);

/* What is told of a span: limited is what limits denied, and neither a ban nor a full table. */
enum history_row {
	HISTORY_ALLOWED,
	HISTORY_DENIED,
	HISTORY_LIMITED,
	HISTORY_BANNED,
	HISTORY_FULL,
};

/* Columns of the newest spans' numbers; to be freed. */
char *history_view_spark(const struct rl_history_span *spans, size_t count, size_t width,
                         enum history_row row, bool is_utf8);

/* Two lines or more for each of hour and day, with times, and what was in it. */
void history_view_print(const char *rule, const struct history_view *view, bool is_utf8);

/* { "minutes": [...], "quarters": [...] } */
json_t *history_view_json(const struct history_view *view);

#endif
