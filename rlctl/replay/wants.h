/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_WANTS_H
#define RLCTL_WANTS_H

/* Which fields of a line are of use: for the key, for filters, for the cost. */

#include "replay/field_name.h"

#define WANTS_MAX 15 /* and the time */

struct want {
	const char *text;       /* as the user named it */
	struct field_name name; /* as rlctl does */
};

struct wants {
	size_t count;
	struct want want[WANTS_MAX];
};

/* The place of a field among those wanted, which is new or not; WANTS_MAX: there are too many. */
size_t wants_add(struct wants *wants, const char *text);

#endif
