/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
terminal_is_smart(void)
{
	const char *term = secure_getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static bool
has_colours(void)
{
	const char *no_color = secure_getenv("NO_COLOR");

	return (!no_color || !*no_color) && terminal_is_smart();
}

const char *
colour_begin(enum colour colour)
{
	static const char *const codes[] = {
		[COLOUR_PLAIN] = "",
		[COLOUR_LIMITED] = "\033[33m",
		[COLOUR_BANNED] = "\033[31m",
	};

	return has_colours() ? codes[colour] : "";
}

const char *
colour_end(enum colour colour)
{
	return colour != COLOUR_PLAIN && has_colours() ? "\033[0m" : "";
}
