/* SPDX-License-Identifier: BSD-2-Clause */

#include "read/json_text.h"

#include <stdbool.h>
#include <string.h>

#include "read/report.h"
#include "text/tokens.h"

#define BLANKS " \t\r\n"

/* The mistake, and where it is; `what` is NULL if it is not known. */
struct oddity {
	const char *what;
	size_t at;
};

static size_t
skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] && strchr(BLANKS, text[at]))
		at++;
	return at;
}

static const char *
what_is_odd(const char *text, size_t len, size_t at)
{
	size_t next = skip_blanks(text, len, at + 1);
	bool closes = next < len && (text[next] == '}' || text[next] == ']');

	switch (text[at]) {
	case '/':
	case '#':
		return "JSON has no comments; \"comment\": \"...\" may stand in any object";
	case '\'':
		return "a string stands in double quotes";
	case ',':
		return closes ? "a comma with nothing behind it" : NULL;
	default:
		return NULL;
	}
}

/* As some editors put one before a text. */
static bool
has_byte_order_mark(const char *text, size_t len)
{
	return (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) ||
	       (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0));
}

/* The first that stands outside of strings, before the place where reading ended. */
static struct oddity
find_oddity(const char *text, size_t len, size_t end)
{
	if (skip_blanks(text, len, 0) == len)
		return (struct oddity){"the file is empty; {} is the least that it may say", 0};
	if (has_byte_order_mark(text, len))
		return (struct oddity){"JSON has no byte order mark: save it as UTF-8 without one",
		                       0};
	for (size_t at = 0; at < len && at < end; at++) {
		const char *what = what_is_odd(text, len, at);

		if (what)
			return (struct oddity){what, at};
		if (text[at] == '"')
			at = text_string_end(text, (uint32_t)len, (uint32_t)at) - 1;
	}
	return (struct oddity){NULL, 0};
}

static void
report_error(const char *path, const char *text, size_t len, const json_error_t *error,
             config_sink *sink, void *arg)
{
	struct report report = {.path = path, .text = text, .len = (uint32_t)len};
	size_t end = error->position > 0 ? (size_t)error->position : 0;
	struct oddity oddity = find_oddity(text, len, end);
	struct text_place place = {error->line > 0 ? (uint32_t)error->line : 1,
	                           error->column > 0 ? (uint32_t)error->column : 1};

	if (oddity.what)
		place = report_place(&report, (uint32_t)oddity.at);
	report_line(path, (int)place.line, (int)place.column, CONFIG_ERROR,
	            oddity.what ? oddity.what : error->text, sink, arg);
	report_show(&report, place, sink, arg);
}

json_t *
json_text_read(const char *path, const char *text, size_t len, config_sink *sink, void *arg)
{
	json_error_t error;
	json_t *root = json_loadb(text, len, 0, &error);

	if (!root)
		report_error(path, text, len, &error, sink, arg);
	return root;
}
