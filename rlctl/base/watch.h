/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_WATCH_H
#define RLCTL_WATCH_H

/* --watch: the same again and again, until interrupted. */

#include "base/command.h"

/* Its options, in the table of a verb. --count has a letter where that is free. */
#define WATCH_OPTIONS(count_letter)                                                \
	{"watch", 'w', NULL, "again and again, until interrupted"},                \
		{"interval", 'i', "D", "how long between two times; default: 1s"}, \
	{                                                                          \
		"count", count_letter, "N", "end --watch after N times"            \
	}

struct watch {
	bool is_on;
	uint64_t interval_ns;
	uint64_t count; /* 0: no end */
};

/* Read the options; false after a message. */
bool watch_read(const struct context *context, struct watch *watch);

/*
 * show() once, or as often as the options say: on a terminal each time in the place of the last
 * one, else with an empty line between. Returns the last exit status; trouble ends it.
 */
int watch_run(const struct context *context, int (*show)(const struct context *context));

#endif
