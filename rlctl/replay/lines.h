/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LINES_H
#define RLCTL_LINES_H

/*
 * An input cut into lines. Of a longer line than LINE_KEPT bytes the first ones are kept and the
 * rest is passed over: a line of any length takes no more memory, and time as for reading it. Once
 * LINES_VAIN_MAX bytes were of no use to the caller, the input has no end that is worth waiting
 * for.
 */

#include <stdint.h>

#include "replay/input.h"
#include "replay/slice.h"

#define LINE_KEPT ((size_t)256 << 10)
#define LINES_VAIN_MAX (UINT64_C(256) << 20)

struct lines {
	struct input *input;
	bool is_growing; /* at the end, what has no line feed yet is still being written */
	bool is_skipping;
	char *bytes;
	size_t at, len;
	uint64_t number; /* of the last line, from 1 */
	uint64_t read;   /* bytes */
	uint64_t useful; /* of them, up to the last line that was of use: the caller says so */
};

struct lines lines_make(struct input *input, bool is_growing);

/* The next line without its end, which lives until the next call. 1, 0 at the end, -1 after a
 * message. */
int lines_next(struct lines *lines, struct slice *line);

void lines_free(struct lines *lines);

#endif
