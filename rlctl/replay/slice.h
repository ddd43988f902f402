/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SLICE_H
#define RLCTL_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Bytes of a line, which are somebody else's; `at` NULL: the line does not have them. */
struct slice {
	const char *at;
	size_t len;
};

static inline struct slice
slice_make(const char *at, const char *end)
{
	return (struct slice){at, (size_t)(end - at)};
}

static inline bool
slice_is(struct slice slice, const char *text)
{
	return slice.at && strlen(text) == slice.len && memcmp(slice.at, text, slice.len) == 0;
}

static inline bool
slice_begins(struct slice slice, const char *text)
{
	size_t len = strlen(text);

	return slice.len >= len && memcmp(slice.at, text, len) == 0;
}

/* The bytes behind the first `count`; there are as many. */
static inline struct slice
slice_skip(struct slice slice, size_t count)
{
	return (struct slice){slice.at + count, slice.len - count};
}

/* The bytes in front of `c`; all of them if it is not there. */
static inline struct slice
slice_until(struct slice slice, char c)
{
	const char *at = slice.len > 0 ? memchr(slice.at, c, slice.len) : NULL;

	return at ? slice_make(slice.at, at) : slice;
}

#endif
