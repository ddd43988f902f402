/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SYSLOG_LINE_H
#define RLCTL_SYSLOG_LINE_H

/*
 * What syslog, or a journal exported as text, puts in front of a message:
 *
 *	Nov 22 10:00:00 host program[123]: message
 *	2026-11-22T10:00:00.123456+01:00 host program[123]: message
 *	<134>1 2026-11-22T10:00:00Z host program 123 - - message     (RFC 5424; "<134>" may stand
 *	                                                             before the others, too)
 */

#include <stdint.h>

#include "replay/stamp.h"

struct syslog_line {
	uint64_t time_ns;
	struct slice program;
	struct slice message;
};

/* False if there is no such thing in front. */
bool syslog_line_read(struct slice line, struct stamps *stamps, struct syslog_line *out);

/* Of an attempt to log in by ssh that sshd tells of, whose and from where; false of all else that
 * it tells. */
struct sshd_attempt {
	struct slice verdict; /* "Failed" or "Accepted" */
	struct slice method;
	struct slice user;
	struct slice client;
};
bool sshd_attempt_read(struct slice message, struct sshd_attempt *out);

#endif
