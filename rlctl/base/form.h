/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_FORM_H
#define RLCTL_FORM_H

/* The forms in which a verb writes a list: --output, and --null beside it. */

#include "base/command.h"

#define FORM_OPTIONS                                                                           \
	{"output", 'o', "wide|name|tsv|json",                                                  \
	 "all columns, whatever the terminal; names alone; columns with a tab between; JSON"}, \
		{"null", '0', NULL,                                                            \
	         "each name alone, as it is, with a NUL behind it, for xargs -0"},             \
	{                                                                                      \
		"no-headers", 'H', NULL, "neither names of columns nor how many there are"     \
	}

enum form {
	FORM_TEXT, /* for people */
	FORM_WIDE, /* all there is, for people */
	FORM_NAME, /* as a shell takes it */
	FORM_NULL, /* as it is, with a NUL behind it */
	FORM_TSV,
	FORM_JSON,
};

/* Read the options; false after a message. */
bool form_read(const struct context *context, enum form *form);

#endif
