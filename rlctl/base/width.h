/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_WIDTH_H
#define RLCTL_WIDTH_H

/* How much room text takes on a terminal. */

#include <stddef.h>
#include <stdio.h>

#define COLUMNS_USUAL 80

/* Columns of the terminal at stdout; 0 if there is none. */
size_t terminal_columns(void);

/* Columns that a text of printable characters takes. */
size_t text_columns(const char *text);

/*
 * The text and a newline, from column `indent` on. Where a line of so many columns is too short for
 * it, it goes on below where it began.
 */
void wrap_text(FILE *out, const char *text, size_t indent, size_t columns);

/* The same at stdout, by the columns of the terminal; where there is none, in one line. */
void print_wrapped(const char *text, size_t indent);

#define ELLIPSIS_ROOM 4 /* bytes, with the end of the text */

/* Cut a text that is longer to so many columns, the last of them an ellipsis: behind the text
 * there is to be room for one. */
void text_cut(char *text, size_t columns);

#endif
