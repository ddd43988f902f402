/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <rl_admin.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static bool has_priorities = true;
static int lowest = LOG_INFO;

void
log_open(bool is_verbose)
{
	has_priorities = !isatty(STDERR_FILENO);
	lowest = is_verbose ? LOG_DEBUG : LOG_INFO;
}

/* A name from a file must neither begin another line nor steer a terminal. */
static void
make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static size_t
compose(char line[static LINE_MAX_BYTES], int priority, const char *format, va_list args)
{
	int start = has_priorities ? snprintf(line, LINE_MAX_BYTES, "<%d>", priority)
	                           : snprintf(line, LINE_MAX_BYTES, "rld: ");
	size_t room = LINE_MAX_BYTES - (size_t)start - 1;
	int length = vsnprintf(line + start, room, format, args);
	size_t end = (size_t)start;

	make_plain(line + start);
	if (length > 0)
		end += (size_t)length < room ? (size_t)length : room - 1;
	line[end] = '\n';
	return end + 1;
}

void
log_line(int priority, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	size_t size;

	if (priority > lowest)
		return;
	va_start(args, format);
	size = compose(line, priority, format, args);
	va_end(args);
	if (write(STDERR_FILENO, line, size) < 0)
		return; /* nobody reads it, and there is nobody to tell that */
}

void
log_config(enum config_level level, const char *text, void *arg)
{
	static const int priorities[] = {
		[CONFIG_ERROR] = LOG_ERR,
		[CONFIG_WARNING] = LOG_WARNING,
		[CONFIG_NOTE] = LOG_NOTICE,
		[CONFIG_DETAIL] = LOG_ERR,
	};

	(void)arg;
	log_line(priorities[level], "%s", text);
}

bool
log_may(struct log_pace *pace, uint64_t now_ns)
{
	if (now_ns < pace->next_ns)
		return false;
	pace->next_ns = now_ns + LOG_PACE_SECONDS * RL_SECOND;
	return true;
}
