/* SPDX-License-Identifier: BSD-2-Clause */
/* W3C extended logs, as IIS and CloudFront have them: a line tells what the others look like. */

#include "replay/w3c.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"

bool
is_w3c_directive(struct slice line)
{
	static const char *const directives[] = {
		"#Version:", "#Software:",   "#Date:",    W3C_FIELDS,
		"#Remark:",  "#Start-Date:", "#End-Date:"};

	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (slice_begins(line, directives[i]))
			return true;
	return false;
}

/* "c-ip" is the client; "cs(X-Api-Key)" a header. Others are called as they are. */
static struct field_name
w3c_name(struct slice word)
{
	static const struct {
		const char *from, *to;
	} names[] = {
		{"c-ip", "client"},      {"cs-username", "user"},   {"cs-method", "method"},
		{"cs-uri-stem", "path"}, {"cs-uri-query", "query"}, {"cs-uri", "uri"},
		{"sc-status", "status"}, {"sc-bytes", "bytes"},     {"cs-host", "vhost"},
	};
	char text[FIELD_NAME_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_is(word, names[i].from))
			return field_name_of(names[i].to);
	if (slice_begins(word, "cs(") && word.len > 4)
		snprintf(text, sizeof(text), "header:%.*s", (int)word.len - 4, word.at + 3);
	else
		snprintf(text, sizeof(text), "%.*s", (int)word.len, word.at);
	return field_name_of(text);
}

static struct slice
next_word(struct slice *text)
{
	struct slice word;

	while (text->len > 0 && (*text->at == ' ' || *text->at == '\t'))
		*text = slice_skip(*text, 1);
	word = slice_until(slice_until(*text, ' '), '\t');
	*text = slice_skip(*text, word.len);
	return word;
}

static bool
add_field(struct layout *layout, struct field_name name)
{
	if (layout->count == LAYOUT_FIELDS_MAX)
		return false;
	layout->before[layout->count] = need(strdup(layout->count > 0 ? "  " : ""));
	layout->names[layout->count++] = name;
	return true;
}

/* "date time" beside each other are one field. */
static const char *
read_fields(struct layout *layout, struct slice text)
{
	bool has_time = false;

	for (struct slice word = next_word(&text); word.len > 0; word = next_word(&text)) {
		if (slice_is(word, "date")) {
			word = next_word(&text);
			if (!slice_is(word, "time"))
				return "no 'time' stands behind 'date'";
			layout->time = layout->count;
			has_time = true;
		}
		if (!add_field(layout, w3c_name(word)))
			return "too many fields";
	}
	return has_time ? NULL : "no 'date time' is among the fields";
}

const char *
w3c_layout(struct slice directive, struct layout *layout)
{
	const char *wrong;

	layout_free(layout);
	wrong = read_fields(layout, slice_skip(directive, strlen(W3C_FIELDS)));
	layout->before[layout->count] = need(strdup(""));
	if (wrong)
		layout_free(layout);
	return wrong;
}
