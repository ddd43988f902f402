/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_STAMP_H
#define RLCTL_STAMP_H

/*
 * Times as logs have them:
 *
 *	22/Nov/2026:10:00:00 +0100           with a fraction, the zone may be missing: local time
 *	2026-11-22T10:00:00.123+01:00        ISO 8601: a blank for the T, a zone of Z, +01:00, +0100
 *	                                     or +01; UTC without one
 *	Nov 22 10:00:00                      syslog: local time, of the last year it can be
 *	1795341600.123                       since 1970: in s to 10 digits, in ms to 13, us to 16,
 *	                                     ns
 *
 * All integers: a fraction is exact to the nanosecond, further digits are cut.
 */

#include <stdint.h>
#include <time.h>

#include "replay/slice.h"

#define STAMP_MAX INT64_MAX /* nanoseconds since 1970 */
#define STAMP_KEPT 40       /* bytes of a stamp that is remembered */
#define STAMP_EXAMPLES "01/Aug/1995:00:00:01 -0400, 2026-11-22T10:00:00Z or 807249601.25"

/* The last time that was read, for one line's time is mostly that of the line before. */
struct stamps {
	char text[STAMP_KEPT];
	size_t len;
	uint64_t ns;
	time_t now;                 /* 0: not asked for yet */
	int64_t hour, hour_seconds; /* of local time: its number, and what time that was */
};

/* False if the whole text is no time, or not between 1970 and 2262. */
bool stamp_read(struct stamps *stamps, struct slice text, uint64_t *ns);

#endif
