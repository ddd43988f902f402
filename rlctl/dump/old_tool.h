/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OLD_TOOL_H
#define RLCTL_OLD_TOOL_H

/* An rlctl whose library knows another layout, to dump a segment of that. */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Where a package keeps the one before. */
#define OLD_TOOL_PATH "/usr/lib/rl/rlctl"

struct old_tool {
	const char *path;
	pid_t pid;
};

/* Run `dump -` on the segment; a stream of what it writes, or NULL after a message. */
FILE *old_tool_dump(struct old_tool *tool, const char *segment);

/* Wait for its end; false, after a message, if it was trouble. */
bool old_tool_end(struct old_tool *tool);

#endif
