/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_INTAKE_H
#define RLCTL_REPLAY_INTAKE_H

/* From lines to requests: what is read, what is passed over and why, and what was understood. */

#include "replay/ask.h"
#include "replay/events.h"
#include "replay/lines.h"

#define EXAMPLES 3

/* The outcome of the lines. */
struct intake {
	const struct ask *ask;
	struct key_spec *key;
	uint64_t lines;
	uint64_t unreadable;
	uint64_t other;    /* comments, other messages */
	uint64_t filtered; /* by --where, --since, --until */
	uint64_t without_key;
	char format[128]; /* which were understood: "combined, json" */
	struct stamps stamps;
};

/* A file being read. */
struct reading {
	struct intake *intake;
	struct lines lines;
	struct reader reader;
};

/* A request that counts. */
struct request {
	uint64_t time_ns;
	struct slice key;
	struct spending spending;
};

struct reading *reading_open(struct intake *intake, const char *file, bool is_growing);

/* The next request, whose key lives until the next call. 1, 0 at the end, -1 after a message. */
int reading_next(struct reading *reading, struct request *out);

void reading_close(struct reading *reading);

#endif
