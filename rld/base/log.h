/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_LOG_H
#define RLD_LOG_H

/*
 * Lines on stderr, each with the priority that the journal reads in front, <3> for an error,
 * but not on a terminal. A line is one write, so that it stays whole.
 */

#include <read/sink.h>
#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

void log_open(bool is_verbose); /* else LOG_DEBUG is not shown */

void log_line(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For config_load() and config_apply(): its problems are lines of the log. */
config_sink log_config;

/* Whether a warning that may come often is to be given: once in LOG_PACE_SECONDS. */
#define LOG_PACE_SECONDS 60
struct log_pace {
	uint64_t next_ns;
};
bool log_may(struct log_pace *pace, uint64_t now_ns);

#endif
