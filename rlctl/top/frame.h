/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_FRAME_H
#define RLCTL_FRAME_H

/* Lines of text with a style each: what a screen shows, or a pipe is given. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_HEAD,
	STYLE_ALARM,
	STYLE_SELECTED,
};

struct frame_line {
	enum style style;
	char *text;
};

struct frame {
	size_t columns; /* longer lines are cut; 0: none is */
	bool is_utf8;   /* else every other character is shown as ? */
	struct frame_line *lines;
	size_t count, room;
};

/* Add a line. */
void frame_add(struct frame *frame, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add each line of a text. */
void frame_add_text(struct frame *frame, const char *text);

/* Drop lines from the end until no more than so many are left. */
void frame_cut(struct frame *frame, size_t rows);

void frame_print(FILE *out, const struct frame *frame);
void frame_free(struct frame *frame);

#endif
