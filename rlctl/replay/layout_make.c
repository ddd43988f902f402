/* SPDX-License-Identifier: BSD-2-Clause */
/* A layout from the text of nginx's log_format or Apache's LogFormat. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "replay/layout.h"

/* A layout as far as it is read. */
struct making {
	const char *at;
	struct layout *layout;
	char *literal; /* since the last field */
	size_t len;
	bool has_time;
	const char *wrong;
};

static void
add_char(struct making *m, char c)
{
	m->literal[m->len++] = c;
	m->literal[m->len] = '\0';
}

static void
add_text(struct making *m, const char *text)
{
	while (*text)
		add_char(m, *text++);
}

/* The literal in front of the next field is done. */
static void
end_literal(struct making *m)
{
	m->layout->before[m->layout->count] = need(strdup(m->literal));
	m->len = 0;
	m->literal[0] = '\0';
}

/* Apache writes one time by several directives: it lasts from the first to the last of them. */
static bool
goes_on(struct making *m, const struct field_name *name)
{
	size_t count = m->layout->count;

	if (strcmp(name->text, "time") != 0 || !m->has_time || m->layout->time + 1 != count)
		return false;
	m->len = 0;
	m->literal[0] = '\0';
	return true;
}

static void
add_field(struct making *m, struct field_name name)
{
	struct layout *layout = m->layout;
	bool is_time = strcmp(name.text, "time") == 0;

	if (goes_on(m, &name))
		return;
	if (layout->count == LAYOUT_FIELDS_MAX) {
		m->wrong = "has too many fields";
		return;
	}
	if (layout->count > 0 && m->len == 0) {
		m->wrong = "has two fields with nothing between them";
		return;
	}
	end_literal(m);
	if (is_time && !m->has_time)
		layout->time = layout->count;
	m->has_time |= is_time;
	layout->names[layout->count++] = name;
}

static bool
is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "$name" or "${name}". */
static void
read_variable(struct making *m)
{
	bool is_braced = m->at[1] == '{';
	const char *start = m->at + 1 + is_braced, *end = start;

	while (is_name_char(*end))
		end++;
	m->at = end + (is_braced && *end == '}');
	add_field(m, field_name_of_variable(slice_make(start, end)));
}

/* "%>s", "%{Referer}i", "%200,304{X}o". What is not known has a field without a name. */
static void
read_directive(struct making *m)
{
	struct slice argument = {0};
	bool is_common_time;

	m->at++;
	m->at += strspn(m->at, "<>!,0123456789");
	if (*m->at == '{') {
		argument = slice_make(m->at + 1, m->at + 1 + strcspn(m->at + 1, "}"));
		m->at = argument.at + argument.len;
		m->at += *m->at == '}';
	}
	m->at += strspn(m->at, "<>?^");
	if (*m->at == '%' && !argument.at) {
		add_char(m, *m->at++);
		return;
	}
	if (*m->at == '\0') {
		m->wrong = "ends in the middle of a directive";
		return;
	}
	is_common_time = *m->at == 't' && !argument.at;
	add_text(m, is_common_time ? "[" : "");
	add_field(m, field_name_of_directive(argument, *m->at));
	m->at++;
	add_text(m, is_common_time ? "]" : "");
}

static void
read_char(struct making *m)
{
	if (*m->at == '\\' && m->at[1] == 't')
		add_char(m, '\t');
	else if (*m->at == '\\' && m->at[1])
		add_char(m, m->at[1]);
	else
		add_char(m, *m->at);
	m->at += *m->at == '\\' && m->at[1] ? 2 : 1;
}

static bool
begins_variable(const char *at)
{
	return at[0] == '$' && (is_name_char(at[1]) || at[1] == '{');
}

/* Has it the variables of nginx? Else the directives of Apache. */
static bool
has_variables(const char *text)
{
	for (; *text; text++)
		if (begins_variable(text))
			return true;
	return false;
}

static const char *
skip_word(const char *text)
{
	text += strspn(text, " \t\n");
	text += strcspn(text, " \t\n");
	return text + strspn(text, " \t\n");
}

/* The parts in quotes, one behind the other, without the quotes. */
static void
join_quoted(const char *at, char *out)
{
	while (*at && *at != ';') {
		char quote = *at++;

		if (quote != '\'' && quote != '"')
			continue;
		for (; *at && *at != quote; at++) {
			if (*at == '\\' && at[1])
				*out++ = *at++;
			*out++ = *at;
		}
		at += *at == quote;
	}
	*out = '\0';
}

/* Leave of a whole directive what the lines look like. Apache's has its nickname behind it. */
static char *
strip_directive(const char *text)
{
	char *out = need(strdup(text));

	text += strspn(text, " \t\n");
	if (strncmp(text, "log_format ", strlen("log_format ")) == 0)
		join_quoted(skip_word(skip_word(text)), out);
	else if (strncasecmp(text, "LogFormat ", strlen("LogFormat ")) == 0)
		join_quoted(skip_word(text), out);
	return out;
}

static const char *
read_all(struct making *m)
{
	bool is_nginx = has_variables(m->at);

	while (*m->at && !m->wrong) {
		if (is_nginx ? begins_variable(m->at) : *m->at == '%')
			is_nginx ? read_variable(m) : read_directive(m);
		else
			read_char(m);
	}
	end_literal(m);
	if (m->wrong)
		return m->wrong;
	if (m->layout->count == 0)
		return "has neither $variables nor %directives";
	return m->has_time ? NULL : "has no time";
}

const char *
layout_make(const char *text, struct layout *layout)
{
	char *plain = strip_directive(text);
	struct making m = {.at = plain, .layout = layout};
	const char *wrong;

	memset(layout, 0, sizeof(*layout));
	m.literal = need(calloc(1, strlen(plain) + 3)); /* brackets that a time brings along */
	wrong = read_all(&m);
	free(m.literal);
	free(plain);
	if (wrong)
		layout_free(layout);
	return wrong;
}
