/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SINK_H
#define CONFIG_SINK_H

/* How whoever reads a configuration, or puts it into force, hears of it. */

enum config_level {
	CONFIG_ERROR,
	CONFIG_WARNING,
	CONFIG_NOTE,
	CONFIG_DETAIL
};

/*
 * Called once per problem, with a line without a newline: "FILE:LINE:COL: /rules/login/capacity:
 * expected an integer from 1 to 268435455, got "five"". All problems are reported, not only the
 * first; in a warning, "warning: " stands before the path. A note is a line of its own: "login:
 * capacity 200, was 100". A detail belongs to the line before, and shows it to people.
 */
typedef void config_sink(enum config_level level, const char *text, void *arg);

#endif
