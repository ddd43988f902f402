/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/width.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "text/utf8.h"

#define WRAP_LEAST 16 /* columns; on a narrower terminal the terminal wraps as well */

size_t
terminal_columns(void)
{
	struct winsize size = {0};

	if (!isatty(STDOUT_FILENO))
		return 0;
	setlocale(LC_CTYPE, "");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return COLUMNS_USUAL;
	return size.ws_col;
}

/* Bytes of the first character; what the locale does not know takes one column. */
static size_t
first_character(const char *text, size_t *columns)
{
	uint32_t character = 0;
	size_t size = utf8_decode((const unsigned char *)text, strlen(text), &character);
	int width = size > 0 ? wcwidth((wchar_t)character) : 1;

	*columns = width < 0 ? 1 : (size_t)width;
	return size > 0 ? size : 1;
}

size_t
text_columns(const char *text)
{
	size_t total = 0, columns;

	for (; *text; total += columns)
		text += first_character(text, &columns);
	return total;
}

void
text_cut(char *text, size_t columns)
{
	size_t used = 0, more;

	if (text_columns(text) <= columns)
		return;
	while (*text) {
		size_t size = first_character(text, &more);

		if (used + more + 1 > columns)
			break;
		used += more;
		text += size;
	}
	strcpy(text, "…");
}

/* Bytes that fit into so many columns: up to a blank or behind a bar, if there is one. */
static size_t
line_bytes(const char *text, size_t room)
{
	size_t used = 0, end = 0, at = 0, columns;

	while (text[at]) {
		size_t size = first_character(text + at, &columns);

		if (text[at] == ' ')
			end = at;
		if (used + columns > room)
			return end > 0 ? end : at;
		if (text[at] == '|')
			end = at + 1;
		used += columns;
		at += size;
	}
	return at;
}

void
wrap_text(FILE *out, const char *text, size_t indent, size_t columns)
{
	while (columns >= indent + WRAP_LEAST && text_columns(text) > columns - indent) {
		size_t len = line_bytes(text, columns - indent);

		fprintf(out, "%.*s\n%*s", (int)len, text, (int)indent, "");
		text += len + (text[len] == ' ');
	}
	fprintf(out, "%s\n", text);
}

void
print_wrapped(const char *text, size_t indent)
{
	wrap_text(stdout, text, indent, terminal_columns());
}
