/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_READER_H
#define RLCTL_READER_H

/* A format, and how what is wanted of a line is read from it. */

#include "replay/cut.h"
#include "replay/envelope.h"
#include "replay/layout.h"
#include "replay/wants.h"

#include <rl_admin.h>

enum reader_kind {
	READER_UNDECIDED, /* until a line tells */
	READER_LAYOUT,
	READER_JSON,
	READER_W3C, /* a layout that a "#Fields:" line tells */
	READER_SSHD,
};

/* The kinds of lines. */
enum line_kind {
	LINE_EVENT,
	LINE_OTHER, /* a comment, or a message of something else */
	LINE_WRONG,
};

#define NO_TIME "no time where one should be, as " STAMP_EXAMPLES

/* Where a wanted field comes from. */
struct source {
	size_t field; /* of the layout, or among the paths */
	enum cut cut;
};

struct reader {
	enum reader_kind kind;
	const char *name;
	struct envelope envelope; /* what is around each line */
	bool is_quoted;           /* they begin with a quote */
	struct layout layout;
	size_t last; /* field of the layout that is of use */
	struct json_paths paths;
	struct source sources[WANTS_MAX];
	char program[32]; /* of the envelope: messages of others are passed over */
	char why[160];    /* what is wrong, where that is not always the same */
	char headers[WANTS_MAX][2 * FIELD_NAME_MAX]; /* paths of headers */
	char plain[WANTS_MAX][RL_KEY_MAX + 1];       /* values without their escapes */
};

struct line_values {
	uint64_t time_ns;
	struct slice value[WANTS_MAX];
};

/* A reader of a layout whose text is that of `format`; NULL, or what is wrong with it. */
const char *reader_of_layout(struct reader *reader, const char *name, const char *format);

/* Find each wanted field in the layout; NULL, or the first that it does not have. */
const char *reader_bind(struct reader *reader, const struct wants *wants);

/* The same for JSON: members are looked for in a line. NULL, or what it does not have. */
const char *reader_bind_json(struct reader *reader, const struct wants *wants,
                             const char *time_name, struct slice line);

/* Whose JSON it looks like: "caddy", "traefik" or "json". */
const char *json_flavour(struct slice line);

/* Read a line by a reader that is decided. What is wrong is told in *wrong. */
enum line_kind reader_read(struct reader *reader, const struct wants *wants, struct slice line,
                           struct stamps *stamps, struct line_values *out, const char **wrong);

/* The same of a line that is out of its envelope. */
enum line_kind reader_read_inside(struct reader *reader, const struct wants *wants,
                                  struct slice line, struct stamps *stamps, struct line_values *out,
                                  const char **wrong);

void reader_free(struct reader *reader);

#endif
