/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LAYOUT_H
#define RLCTL_LAYOUT_H

/*
 * What a line of text looks like: fields, and literals before, between and behind them.
 *
 *	$client $ident $user [$time] "$request" $status
 *
 * A field ends where the literal behind it first stands; behind a field in quotes that is the first
 * quote without a backslash; in front of the time, the first behind which there is a time (a user
 * may be called "a [b"). A literal of two blanks means one or more.
 */

#include <stdint.h>

#include "replay/field_name.h"
#include "replay/stamp.h"

#define LAYOUT_FIELDS_MAX 64

struct layout {
	size_t count;
	struct field_name names[LAYOUT_FIELDS_MAX];
	char *before[LAYOUT_FIELDS_MAX + 1]; /* literals; one more behind the last field */
	size_t time;                         /* which field it is */
};

/* A line's fields, up to the last one that is of use. */
struct layout_match {
	struct slice fields[LAYOUT_FIELDS_MAX];
	uint64_t time_ns;
};

/*
 * A layout from its text: that of nginx's log_format or Apache's LogFormat, also the whole
 * directive as it stands in their files. NULL, or what is wrong with it.
 */
const char *layout_make(const char *text, struct layout *layout);

/* Which field has the name; layout->count if none has. */
size_t layout_find(const struct layout *layout, const char *name);

/* Match the fields up to number `last`. False if there is no time; fields behind it that are not
 * there are NULL. */
bool layout_match(const struct layout *layout, struct slice line, size_t last,
                  struct stamps *stamps, struct layout_match *out);

void layout_free(struct layout *layout);

#endif
