/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/complain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/command.h"

/* Typed text, or a file's name, must neither begin another line nor steer a terminal. */
static void
make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void
complain(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		make_plain(text);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text ? text : "out of memory");
	free(text);
}

void *
need(void *pointer)
{
	if (pointer)
		return pointer;
	complain("out of memory");
	exit(EXIT_TROUBLE);
}
