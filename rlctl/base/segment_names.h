/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SEGMENT_NAMES_H
#define RLCTL_SEGMENT_NAMES_H

/* Which segments there are on this host. */

#include <stddef.h>

struct segment_names {
	char **at; /* in the order of their bytes, each once */
	size_t count, room;
};

/* Also those that may not be opened; no file that only is named like one. To be freed. */
struct segment_names segment_names_find(void);
void segment_names_free(struct segment_names *names);

/* All with a blank before each, in memory to be freed. */
char *segment_names_text(const struct segment_names *names);

#endif
