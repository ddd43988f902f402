/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/openmetrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char total[] = "_total";
static const char *const units[] = {"seconds", "bytes", "ratio"};

bool
openmetrics_is_accepted(const char *accept)
{
	return accept && strcasestr(accept, "application/openmetrics-text");
}

static bool
ends_with(const char *name, size_t len, const char *end)
{
	return len > strlen(end) && memcmp(name + len - strlen(end), end, strlen(end)) == 0;
}

static void
write_unit(FILE *to, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		char end[16];

		snprintf(end, sizeof end, "_%s", units[i]);
		if (ends_with(name, len, end))
			fprintf(to, "# UNIT %.*s %s\n", (int)len, name, units[i]);
	}
}

/* "# HELP name text" or "# TYPE name kind". */
static void
write_about(FILE *to, const char *line, size_t size)
{
	const char *name = line + strlen("# TYPE ");
	size_t len = strcspn(name, " \n"), kept = len;

	if (ends_with(name, len, total))
		kept -= strlen(total);
	fprintf(to, "%.7s%.*s", line, (int)kept, name);
	fwrite(name + len, 1, size - (size_t)(name + len - line), to);
	if (strncmp(line, "# TYPE ", 7) == 0)
		write_unit(to, name, kept);
}

static void
write_lines(FILE *to, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		size += text[size] == '\n';
		if (strncmp(text, "# HELP ", 7) == 0 || strncmp(text, "# TYPE ", 7) == 0)
			write_about(to, text, size);
		else
			fwrite(text, 1, size, to);
		text += size;
	}
	fputs("# EOF\n", to);
}

char *
openmetrics_text(const char *text, size_t *size)
{
	char *out = NULL;
	FILE *to = open_memstream(&out, size);
	bool is_whole;

	if (!to)
		return NULL;
	write_lines(to, text);
	is_whole = !ferror(to);
	if (fclose(to) == 0 && is_whole)
		return out;
	free(out);
	return NULL;
}
