/* SPDX-License-Identifier: BSD-2-Clause */

#include <rl.h>
#include <string.h>

#include "base/number.h"
#include "replay/replay_log.h"
#include "replay/stamp.h"

#define FRACTION_DIGITS 9 /* a nanosecond is the ninth decimal */

bool
log_format_find(const char *name, enum log_format *format)
{
	static const struct {
		const char *name;
		enum log_format format;
	} formats[] = {
		{"auto", LOG_AUTO},
		{"common", LOG_COMMON},
		{"combined", LOG_COMMON},
		{"seconds", LOG_SECONDS},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i].name, name) != 0)
			continue;
		*format = formats[i].format;
		return true;
	}
	return false;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *
check_key(const struct log_line *line)
{
	if (line->key_len == 0)
		return "no key";
	return line->key_len > RL_KEY_MAX ? "the key is too long" : NULL;
}

/* A user name may hold brackets too: the first that opens a time is it. */
static const char *
parse_common(const char *line, size_t len, struct log_line *out)
{
	const char *end = line + len, *at = line;

	while (at < end && !is_blank(*at))
		at++;
	out->key = line;
	out->key_len = (size_t)(at - line);
	while ((at = memchr(at, '[', (size_t)(end - at))))
		if (stamp_parse(++at, &out->time_ns))
			return check_key(out);
	return "no time like [01/Aug/1995:00:00:01 -0400]";
}

/* Nanoseconds of a decimal fraction, *text being behind its point. */
static bool
read_fraction(const char **text, uint64_t *ns)
{
	const char *start = *text;

	*ns = 0;
	for (; **text >= '0' && **text <= '9'; (*text)++)
		if (*text - start < FRACTION_DIGITS)
			*ns = *ns * 10 + (uint64_t)(**text - '0');
	for (long digits = *text - start; digits < FRACTION_DIGITS; digits++)
		*ns *= 10;
	return *text > start;
}

static const char *
parse_time(const char **text, uint64_t *ns)
{
	const char *start = *text;
	uint64_t seconds, fraction = 0;

	if (!number_read(text, &seconds))
		return *text == start ? "no time in seconds" : "the time is out of range";
	if (**text == '.') {
		(*text)++;
		if (!read_fraction(text, &fraction))
			return "no digit behind the decimal point";
	}
	if (seconds > LOG_TIME_MAX / RL_SECOND || seconds * RL_SECOND > LOG_TIME_MAX - fraction)
		return "the time is out of range";
	*ns = seconds * RL_SECOND + fraction;
	return NULL;
}

static const char *
parse_seconds(const char *line, size_t len, struct log_line *out)
{
	const char *at = line;
	const char *wrong = parse_time(&at, &out->time_ns);

	if (wrong)
		return wrong;
	if (at < line + len && !is_blank(*at))
		return "no blank behind the time";
	while (is_blank(*at))
		at++;
	out->key = at;
	out->key_len = len - (size_t)(at - line);
	return check_key(out);
}

/* A host is hardly ever a number, but a key may well hold a line of a log: common first. */
static const char *
parse_auto(enum log_format *format, const char *line, size_t len, struct log_line *out)
{
	if (!parse_common(line, len, out))
		*format = LOG_COMMON;
	else if (!parse_seconds(line, len, out))
		*format = LOG_SECONDS;
	else
		return "neither a common log line nor '<seconds> <key>'";
	return NULL;
}

const char *
log_parse(enum log_format *format, const char *line, size_t len, struct log_line *out)
{
	switch (*format) {
	case LOG_COMMON:
		return parse_common(line, len, out);
	case LOG_SECONDS:
		return parse_seconds(line, len, out);
	case LOG_AUTO:
		break;
	}
	return parse_auto(format, line, len, out);
}
