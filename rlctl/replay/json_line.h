/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_JSON_LINE_H
#define RLCTL_JSON_LINE_H

/*
 * Members of a JSON object on one line, found without reading more of it than it takes to pass over
 * the others: no tree, no allocation, one look at each byte. A path is "request.headers.Host": a
 * dot goes into an object, but may stand in a name, too. Of an array the first element counts.
 */

#include <stdint.h>

#include "replay/slice.h"

#define JSON_PATHS_MAX 16

struct json_paths {
	size_t count;
	const char *path[JSON_PATHS_MAX];
};

/*
 * values[i] is the text of a string with its escapes, of a number or a word; NULL where there is no
 * such member, or it is null or an object. False if the line is no object as far as was read; a
 * line that was cut, or has more behind what is wanted, is as good as a whole one.
 */
bool json_line_read(const struct json_paths *paths, struct slice line, struct slice *values);

/* The same without escapes, into `room` bytes; what does not fit is cut. Returns how many bytes. */
size_t json_unescape(struct slice text, char *out, size_t room);

#endif
