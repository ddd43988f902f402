/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_REPORT_H
#define CONFIG_REPORT_H

/*
 * Problems of a file, gathered while it is read and told in the order of the text:
 *
 *	FILE:LINE:COL: /rules/login/capacity: expected an integer from 1 to 268435455, got "five"
 *
 * Columns count characters from 1, as jansson's do. The path is a JSON pointer (RFC 6901). No
 * character of the file that could move a cursor or hide text is told as it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "read/sink.h"
#include "text/tokens.h"

#define REPORT_MAX 1000     /* problems that are told; of the rest, how many there are */
#define REPORT_ALIKE_MAX 10 /* the same of warnings that say the same of other places */
#define REPORT_KINDS_MAX 16

struct problem {
	uint32_t at; /* where in the text */
	enum config_level level;
	char *text; /* NULL: there was no memory for it */
};

/* Warnings of one format. */
struct report_kind {
	const char *format;
	size_t count; /* told or not */
};

struct report {
	const char *path;
	const char *text;
	uint32_t len;
	const struct tokens *tokens;
	bool reports_all_warnings;
	struct problem *problems;
	size_t count, room, unreported;
	size_t errors; /* told or not */
	struct report_kind kinds[REPORT_KINDS_MAX];
};

/* Note a problem of a value, or of its name. */
void report_value(struct report *report, enum config_level level, uint32_t token,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
void report_name(struct report *report, enum config_level level, uint32_t token, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* A problem that is no value's. */
void report_memory(struct report *report);

/* Tell all of them, and forget them. */
void report_flush(struct report *report, config_sink *sink, void *arg);

/* Tell one that has no place in the text, or whose place is known: line 0 is none. */
void report_line(const char *path, int line, int column, enum config_level level, const char *text,
                 config_sink *sink, void *arg);

struct text_place {
	uint32_t line;
	uint32_t column;
};
struct text_place report_place(const struct report *report, uint32_t at);

/* Tell the line of a place, or the part around it, and a caret below it, as CONFIG_DETAIL. */
void report_show(const struct report *report, struct text_place place, config_sink *sink,
                 void *arg);

/* A value in a message: its text if that is short, or "an object". */
struct value_text {
	char text[64];
};
struct value_text report_got(const struct report *report, uint32_t token);

/* The value's JSON pointer, to be freed; NULL if there is no memory. */
char *report_pointer(const struct report *report, uint32_t token);

#endif
