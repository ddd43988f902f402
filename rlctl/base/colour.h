/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COLOUR_H
#define RLCTL_COLOUR_H

/*
 * Colours on a terminal, for what says the same in words. None where NO_COLOR is set and not empty.
 */

#include <stdbool.h>

/* Is stdout a terminal that moves its cursor as asked? */
bool terminal_is_smart(void);

enum colour {
	COLOUR_PLAIN,
	COLOUR_LIMITED, /* yellow */
	COLOUR_BANNED,  /* red */
};

/* The bytes to write before a text, and behind it; "" where there are no colours. */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

#endif
