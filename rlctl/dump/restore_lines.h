/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RESTORE_LINES_H
#define RLCTL_RESTORE_LINES_H

/* The lines of a dump, one after the other, into a segment; and what became of them. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dump/dump_line.h"

/* The outcome of the lines. */
enum outcome {
	RESTORED,
	EXPIRED,      /* nothing of it would count any more */
	HELD,         /* units in flight, whose holders have no part in it */
	UNNAMED,      /* not all bytes of the key are in the dump */
	UNKNOWN_RULE, /* the segment has no such rule */
	CHANGED,      /* no limit of the rule has that shape any more */
	FAILED,       /* the library refused */
	UNREADABLE,   /* no line of a dump */
	OUTCOMES
};

struct restore {
	struct rl *rl;
	bool is_dry;
	FILE *file;
	const char *name;
	int64_t shift_ns; /* how much later the times of the dump are on the segment's clock */

	/*
	 * Called with the header, to provide `rl`; false after a message ends it. NULL: it is
	 * there.
	 */
	bool (*begin)(struct restore *restore, const struct dump_line *header);
	/* Called with each rule; NULL: they are the segment's own. */
	void (*define)(struct restore *restore, const struct dump_line *rule);
	void *arg; /* for these */

	uint64_t line_number;
	uint64_t now_ns;
	bool has_end;
	uint64_t entries, bans; /* lines, to compare with the end's totals */
	uint64_t cells;         /* that count what is not in the dump */
	uint64_t outcomes[OUTCOMES];
	uint64_t in_cells; /* of those restored, for the table is full */
	uint64_t ahead;    /* moments that the clock has not reached, charged as of now */
};

/* "-" is standard input. False after a message. */
bool restore_open(struct restore *restore, const char *path);
void restore_close(struct restore *restore);

/* False, after a message, if the file could not be read as a dump at all, or not to its end. */
bool restore_read(struct restore *restore);

/* The outcome of the lines; as text on stdout, too, if asked. */
json_t *restore_report(const struct restore *restore, bool is_text);

/* Whether each line of a whole dump was understood, and none refused; else after a message. */
bool restore_is_whole(const struct restore *restore);

/* Entries that have no counter, though they would count. */
uint64_t restore_left_out(const struct restore *restore);

#endif
