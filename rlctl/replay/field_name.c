/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/field_name.h"

#include <ctype.h>
#include <stdio.h>

static struct field_name
name_make(const char *prefix, struct slice text)
{
	struct field_name name = {""};
	size_t at = strlen(prefix);

	if (text.len == 0 || at + text.len >= sizeof(name.text))
		return name;
	memcpy(name.text, prefix, at);
	memcpy(name.text + at, text.at, text.len);
	return name;
}

/* As nginx names a header: in small letters, with _ for all that is no letter or digit. */
static struct field_name
header_name(const char *prefix, struct slice header)
{
	struct field_name name = name_make(prefix, header);

	for (char *c = name.text; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
	return name;
}

struct alias {
	const char *from, *to;
};

static struct field_name
canonical(struct field_name name)
{
	static const struct alias aliases[] = {
		{"remote_addr", "client"},
		{"remote_user", "user"},
		{"request_method", "method"},
		{"request_uri", "uri"},
		{"body_bytes_sent", "bytes"},
		{"bytes_sent", "bytes"},
		{"http_referer", "referer"},
		{"http_user_agent", "agent"},
		{"host", "vhost"},
		{"server_name", "vhost"},
		{"http_host", "vhost"},
		{"time_local", "time"},
		{"time_iso8601", "time"},
		{"msec", "time"},
	};

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(name.text, aliases[i].from) == 0)
			snprintf(name.text, sizeof(name.text), "%s", aliases[i].to);
	return name;
}

/* nginx's $uri has no query; who names a field "uri" means all of it. */
struct field_name
field_name_of_variable(struct slice name)
{
	return slice_is(name, "uri") ? (struct field_name){"path"} : canonical(name_make("", name));
}

struct field_name
field_name_of_directive(struct slice argument, char letter)
{
	static const struct {
		char letter;
		const char *name;
	} directives[] = {
		{'a', "client"},   {'h', "client"},   {'l', "ident"},  {'u', "user"},
		{'t', "time"},     {'r', "request"},  {'s', "status"}, {'b', "bytes"},
		{'B', "bytes"},    {'O', "bytes"},    {'m', "method"}, {'U', "path"},
		{'q', "query"},    {'v', "vhost"},    {'V', "vhost"},  {'p', "port"},
		{'D', "duration"}, {'T', "duration"}, {'P', "pid"},    {'I', "received"},
	};

	if (letter == 'i')
		return canonical(header_name("http_", argument));
	if (letter == 'o')
		return header_name("sent_http_", argument);
	if (letter == 'e' || letter == 'n' || letter == 'C')
		return name_make("", argument);
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (directives[i].letter == letter)
			return name_make(
				"", (struct slice){directives[i].name, strlen(directives[i].name)});
	return (struct field_name){""};
}

/* "%u" or "%{X-Api-Key}i". */
static struct field_name
of_directive(struct slice text)
{
	struct slice argument = {0};

	if (slice_begins(text, "%{")) {
		argument = slice_until(slice_skip(text, 2), '}');
		text = slice_skip(text, argument.len + 2);
	}
	return text.len == 2 ? field_name_of_directive(argument, text.at[1])
	                     : (struct field_name){""};
}

struct field_name
field_name_of(const char *text)
{
	struct slice all = {text, strlen(text)};

	if (slice_begins(all, "$"))
		return field_name_of_variable(slice_skip(all, 1));
	if (slice_begins(all, "%"))
		return of_directive(all);
	if (slice_begins(all, "header:"))
		return canonical(header_name("http_", slice_skip(all, strlen("header:"))));
	return canonical(name_make("", all));
}
