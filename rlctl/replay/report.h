/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_REPORT_H
#define RLCTL_REPLAY_REPORT_H

#include "replay/candidate.h"
#include "replay/events.h"
#include "replay/intake.h"

struct report_of {
	const struct events *events;
	const struct intake *intake;
	struct candidate *candidates;
	size_t candidate_count;
	size_t top; /* keys that are shown */
	bool is_as_is, is_local;
	uint64_t late;     /* requests that came too late to be put in order */
	char *warnings[8]; /* what is suspicious */
	size_t warning_count;
};

/*
 * Keys that any candidate denies, most first: by what the first denies, then all, then requests,
 * then name. At most `top`, *count of them, to be freed.
 */
uint32_t *report_top(const struct report_of *report, size_t *count);

/* Rows of the head that both kinds of reports have. */
void report_print_intake(const struct report_of *report);
void report_put_intake(const struct report_of *report, json_t *root);

void report_text(const struct report_of *report);
void report_json(const struct report_of *report);

#endif
