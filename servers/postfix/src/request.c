/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request of Postfix: lines "name=value", and an empty line at its end. Values are what strangers
 * say: any bytes but NUL and newline.
 */
#include <string.h>

#include "policyd.h"

size_t
request_length(const char *bytes, size_t from, size_t len)
{
	const char *end;

	if (len > 0 && bytes[0] == '\n')
		return 1;
	end = memmem(bytes + from, len - from, "\n\n", 2);
	return end ? (size_t)(end - bytes) + 2 : 0;
}

/* The line at *at, without its newline; moves on behind it. */
static bool
next_line(const struct request *request, size_t *at, struct text *line)
{
	const char *start = request->bytes + *at;
	const char *end;

	if (*at >= request->len)
		return false;
	end = memchr(start, '\n', request->len - *at);
	*line = (struct text){start, end ? (size_t)(end - start) : request->len - *at};
	*at += line->len + 1;
	return line->len > 0;
}

static bool
is_named(struct text line, const char *name)
{
	size_t len = strlen(name);

	return line.len > len && line.bytes[len] == '=' && memcmp(line.bytes, name, len) == 0;
}

struct text
request_get(const struct request *request, const char *name)
{
	size_t at = 0, len = strlen(name) + 1;
	struct text line;

	while (next_line(request, &at, &line))
		if (is_named(line, name))
			return (struct text){line.bytes + len, line.len - len};
	return (struct text){"", 0};
}

const char *
request_fault(const struct request *request)
{
	struct text line, kind = request_get(request, "request");
	size_t at = 0;

	if (memchr(request->bytes, '\0', request->len))
		return "it has a NUL byte";
	while (next_line(request, &at, &line))
		if (line.bytes[0] == '=' || !memchr(line.bytes, '=', line.len))
			return "it has a line without a name and '='";
	if (kind.len != strlen("smtpd_access_policy") ||
	    memcmp(kind.bytes, "smtpd_access_policy", kind.len) != 0)
		return "it is no request=smtpd_access_policy";
	return NULL;
}
