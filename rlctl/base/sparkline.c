/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sparkline.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/complain.h"

bool
sparkline_has_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static uint64_t
largest(const uint64_t *values, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (values[i] > most)
			most = values[i];
	return most;
}

#define LEVELS 8 /* above nothing at all */

/* Anything above 0 is seen. */
static uint64_t
scale(uint64_t value, uint64_t most)
{
	return (uint64_t)(((unsigned __int128)value * LEVELS + most - 1) / most);
}

char *
sparkline(const uint64_t *values, size_t count, bool is_utf8)
{
	static const char *const blocks[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[LEVELS + 1] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const char *const *glyphs = is_utf8 ? blocks : ascii;
	uint64_t most = largest(values, count);
	char *text = need(calloc(count + 1, sizeof("█"))), *out = text;

	for (size_t i = 0; i < count; i++) {
		uint64_t level = most ? scale(values[i], most) : 0;

		out = stpcpy(out, glyphs[level]);
	}
	return text;
}
