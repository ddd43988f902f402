/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_LOG_H
#define RLCTL_REPLAY_LOG_H

/*
 * One line of recorded traffic. Two forms are known:
 *
 *	common   host ident user [01/Aug/1995:00:00:01 -0400] anything
 *	seconds  807249601.25 key
 *
 * The key of the first is the host, of the second the rest of the line, any bytes.
 * Integers only: a decimal fraction is exact to the nanosecond, further digits are cut.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_TIME_MAX INT64_MAX

enum log_format {
	LOG_AUTO, /* the form of the first line that can be read */
	LOG_COMMON,
	LOG_SECONDS,
};

struct log_line {
	uint64_t time_ns; /* since 1970, at most LOG_TIME_MAX */
	const char *key;  /* into the line */
	size_t key_len;
};

/* By name: auto, common, combined (the same as common) or seconds. False if unknown. */
bool log_format_find(const char *name, enum log_format *format);

/*
 * Read a line of `len` bytes, without its newline and followed by a NUL. Replaces LOG_AUTO
 * in *format once it is decided. NULL, or in a few words what is wrong with the line.
 */
const char *log_parse(enum log_format *format, const char *line, size_t len, struct log_line *out);

#endif
