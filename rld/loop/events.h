/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_EVENTS_H
#define RLD_EVENTS_H

/*
 * Hands the segment's events on: to the journal, as fields, and to a file, as lines. What comes
 * while rld does not run is in the segment, and not handed on.
 */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/log.h"

struct events {
	struct rl *rl;       /* NULL: nothing is to be handed on */
	const char *segment; /* its name */
	const char *journal; /* the socket, or NULL */
	const char *path;    /* of the file, or NULL */
	int journal_fd, file_fd;
	struct rl_events_cursor cursor;
	uint64_t reported_lost; /* of what the cursor has lost */
	struct log_pace pace;
	bool is_cut;                            /* the file ends in the middle of a line */
	int write_error;                        /* of the last line that could not be written */
	uint64_t unwritten, reported_unwritten; /* lines */
	struct log_pace file_pace;
};

/* 0, or -1 after a message. `events` begins with file descriptors that are none. */
int events_open(struct events *events, struct rl *rl, const char *journal, const char *path);

/* Hand on what has come. */
void events_run(struct events *events, uint64_t now_ns);

/* Open the file anew: it may have been rotated. */
void events_reopen(struct events *events);

/* What has not been told of what was lost is told now. */
void events_close(struct events *events);

#endif
