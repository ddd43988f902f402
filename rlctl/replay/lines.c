/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/lines.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/progress.h"

struct lines
lines_make(struct input *input, bool is_growing)
{
	return (struct lines){
		.input = input, .is_growing = is_growing, .bytes = need(malloc(LINE_KEPT))};
}

static ssize_t
give_up(const struct lines *lines)
{
	progress_erase();
	complain("%s: 256 MiB up to line %" PRIu64 " have nothing that can be read; given up",
	         input_name(lines->input), lines->number);
	return -1;
}

/* Behind what is there; 0 at the end. */
static ssize_t
fill(struct lines *lines)
{
	ssize_t got;

	if (lines->read - lines->useful > LINES_VAIN_MAX)
		return give_up(lines);
	if (lines->at > 0) {
		lines->len -= lines->at;
		memmove(lines->bytes, lines->bytes + lines->at, lines->len);
		lines->at = 0;
	}
	got = input_read(lines->input, lines->bytes + lines->len, LINE_KEPT - lines->len);
	if (got > 0) {
		lines->len += (size_t)got;
		lines->read += (uint64_t)got;
	}
	return got;
}

/* Take what is in front of `end`, and what ends it; false if it is the rest of a line of which
 * the beginning was told. */
static bool
take(struct lines *lines, const char *end, bool is_whole, struct slice *line)
{
	bool is_rest = lines->is_skipping;

	*line = slice_make(lines->bytes + lines->at, end);
	lines->at += line->len + is_whole;
	lines->is_skipping = !is_whole;
	if (is_rest)
		return false;
	if (line->len > 0 && line->at[line->len - 1] == '\r')
		line->len--;
	lines->number++;
	return true;
}

/* At the end of the input: a last line without a line feed. */
static int
take_last(struct lines *lines, struct slice *line)
{
	const char *end = lines->bytes + lines->len;
	bool is_line;

	if (lines->at == lines->len || lines->is_growing)
		return 0;
	is_line = take(lines, end, false, line);
	lines->is_skipping = false;
	return is_line;
}

int
lines_next(struct lines *lines, struct slice *line)
{
	size_t seen = 0; /* bytes without a line feed */

	for (;;) {
		const char *from = lines->bytes + lines->at + seen;
		const char *end = memchr(from, '\n', lines->len - lines->at - seen);
		ssize_t got;

		if (!end && lines->at == 0 && lines->len == LINE_KEPT) {
			if (take(lines, lines->bytes + lines->len, false, line))
				return 1;
			seen = 0;
			continue;
		}
		if (end) {
			if (take(lines, end, true, line))
				return 1;
			seen = 0;
			continue;
		}
		seen = lines->len - lines->at;
		got = fill(lines);
		if (got <= 0)
			return got < 0 ? -1 : take_last(lines, line);
	}
}

void
lines_free(struct lines *lines)
{
	free(lines->bytes);
}
