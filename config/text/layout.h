/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_LAYOUT_H
#define CONFIG_LAYOUT_H

/*
 * A segment that rl_open() refuses with RL_EVERSION: of which layout it is, and what can be done.
 */

#include <stdbool.h>

struct other_layout {
	bool is_released; /* so 'rlctl upgrade' can carry its counters over */
	char text[128];   /* "it has layout 2, and this rl has layout 3, revision 1" */
};

/* A layout of no release has no rlctl that is kept to read it. */
#define LAYOUT_UNRELEASED                                                                      \
	"its counters cannot be carried over, for no release has that layout: remove it with " \
	"'rlctl unlink', and restart the workers"

void other_layout(const char *segment, struct other_layout *other);

#endif
