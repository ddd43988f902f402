/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/confirm.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/output.h"

static bool
read_yes(void)
{
	int answer = getchar(), c = answer;

	while (c != '\n' && c != EOF)
		c = getchar();
	return answer == 'y' || answer == 'Y';
}

bool
confirm(const struct context *context, const char *format, ...)
{
	va_list arguments;

	if (option_value(context, "yes"))
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		complain("%s: needs --yes where there is no terminal to ask at",
		         context->command->name);
		return false;
	}
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs(" [y/N] ", stderr);
	if (read_yes())
		return true;
	complain("%s: nothing was changed", context->command->name);
	return false;
}
