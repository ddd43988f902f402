/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SEGMENT_NAMES_H
#define RLCTL_SEGMENT_NAMES_H

/* Which segments there are on this host. */

#include <stddef.h>

struct segment_names {
	char **at; /* in the order of their bytes, each once; behind them a NULL */
	size_t count, room;
};

/* Also those that may not be opened; no file that only is named like one. To be freed. */
struct segment_names segment_names_find(void);
void segment_names_free(struct segment_names *names);

/*
 * A few with a blank before each, the one nearest to what was `meant` first if that is not NULL,
 * and how many more there are. To be freed.
 */
char *segment_names_text(const struct segment_names *names, const char *meant);

#endif
