/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit/splice.h"
#include "text/digits.h"
#include "text/tokens.h"

struct splice {
	const char *text;
	uint32_t len;
	struct tokens tokens;
	uint32_t at;      /* the value found so far */
	const char *rest; /* of the pointer: what is not there */
	FILE *out;
};

/* The next name of a pointer, unescaped and to be freed; *pointer moves behind it. */
static char *
next_name(const char **pointer)
{
	const char *from = *pointer + 1;
	char *name = malloc(strlen(from) + 1), *to = name;

	for (; name && *from && *from != '/'; from++) {
		if (*from == '~' && (from[1] == '0' || from[1] == '1'))
			*to++ = *++from == '0' ? '~' : '/';
		else
			*to++ = *from;
	}
	if (name)
		*to = '\0';
	*pointer = from;
	return name;
}

static bool
is_named(const struct splice *s, uint32_t token, const char *name)
{
	uint32_t key = s->tokens.at[token].key;
	size_t size = text_string_end(s->text, s->len, key) - key;
	const char *raw = s->text + key + 1;
	json_t *decoded;
	bool is_same;

	if (size < 2)
		return false;
	if (!memchr(raw, '\\', size - 2))
		return strlen(name) == size - 2 && memcmp(raw, name, size - 2) == 0;
	decoded = json_loadb(s->text + key, size, JSON_DECODE_ANY, NULL);
	is_same = json_is_string(decoded) && strcmp(json_string_value(decoded), name) == 0;
	json_decref(decoded);
	return is_same;
}

static bool
is_kind(const struct splice *s, char open)
{
	return s->text[s->tokens.at[s->at].start] == open;
}

/* The member or element of this name; 0 if there is none. */
static uint32_t
find_child(const struct splice *s, const char *name)
{
	const char *digits = name;
	uint64_t index = 0, i = 0;
	bool is_array = is_kind(s, '[');

	if (!is_array && !is_kind(s, '{'))
		return 0;
	if (is_array && (!number_read(&digits, &index) || *digits))
		return 0;
	for (uint32_t t = tokens_first(&s->tokens, s->at); t;
	     t = tokens_sibling(&s->tokens, t), i++)
		if (is_array ? i == index : is_named(s, t, name))
			return t;
	return 0;
}

/* Follow the pointer as far as there is something. */
static int
follow(struct splice *s, const char *pointer)
{
	if (*pointer != '/')
		return SPLICE_EPOINTER;
	s->rest = pointer;
	while (*s->rest) {
		const char *behind = s->rest;
		char *name = next_name(&behind);
		uint32_t child = name ? find_child(s, name) : 0;

		free(name);
		if (!name)
			return -ENOMEM;
		if (child == 0)
			return 0;
		s->at = child;
		s->rest = behind;
	}
	return 0;
}

static void
put_text(struct splice *s, uint32_t from, uint32_t to)
{
	fwrite(s->text + from, 1, to - from, s->out);
}

static int
put_name(struct splice *s, const char *name)
{
	json_t *json = json_string(name);
	char *text = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;

	if (text)
		fprintf(s->out, "%s: ", text);
	json_decref(json);
	free(text);
	return text ? 0 : SPLICE_EPOINTER;
}

/* The value, inside the objects that the rest of the pointer names. */
static int
put_nested(struct splice *s, const char *rest, const char *value)
{
	size_t depth = 0;
	int error = 0;

	while (*rest && error == 0) {
		char *name = next_name(&rest);

		fputc('{', s->out);
		error = name ? put_name(s, name) : -ENOMEM;
		free(name);
		depth++;
	}
	fputs(value, s->out);
	while (depth-- > 0)
		fputc('}', s->out);
	return error;
}

static uint32_t
last_child(const struct splice *s)
{
	uint32_t last = 0;

	for (uint32_t t = tokens_first(&s->tokens, s->at); t; t = tokens_sibling(&s->tokens, t))
		last = t;
	return last;
}

static uint32_t
token_begin(const struct token *token)
{
	return token->key ? token->key : token->start;
}

/* Blanks that stand before what was last, for what comes behind it. */
static void
put_separator(struct splice *s, uint32_t last)
{
	uint32_t end = token_begin(&s->tokens.at[last]), start = end;

	while (start > 0 && strchr(" \t\r\n", s->text[start - 1]))
		start--;
	fputc(',', s->out);
	if (start < end)
		put_text(s, start, end);
	else
		fputc(' ', s->out);
}

static int
insert(struct splice *s, const char *value)
{
	const struct token *parent = &s->tokens.at[s->at];
	const char *rest = s->rest;
	char *name = next_name(&rest);
	uint32_t last = last_child(s);
	uint32_t at = last ? s->tokens.at[last].end : parent->start + 1;
	int error = name ? 0 : -ENOMEM;

	if (error == 0 && is_kind(s, '[') && strcmp(name, "-") != 0)
		error = SPLICE_EABSENT;
	else if (error == 0 && !is_kind(s, '[') && !is_kind(s, '{'))
		error = SPLICE_EPARENT;
	if (error == 0) {
		put_text(s, 0, at);
		if (last)
			put_separator(s, last);
		if (is_kind(s, '{'))
			error = put_name(s, name);
	}
	if (error == 0)
		error = put_nested(s, rest, value);
	if (error == 0)
		put_text(s, last ? at : parent->end - 1, s->len);
	free(name);
	return error;
}

static int
set(struct splice *s, const char *value)
{
	const struct token *token = &s->tokens.at[s->at];

	if (*s->rest)
		return insert(s, value);
	put_text(s, 0, token->start);
	fputs(value, s->out);
	put_text(s, token->end, s->len);
	return 0;
}

/* With what separates it from what follows, or else from what is before it. */
static int
unset(struct splice *s, const char *unused)
{
	const struct token *token = &s->tokens.at[s->at];
	uint32_t next = tokens_sibling(&s->tokens, s->at), previous = 0;
	uint32_t from = token_begin(token), to = token->end;

	(void)unused;
	if (*s->rest)
		return SPLICE_EABSENT;
	for (uint32_t t = tokens_first(&s->tokens, token->parent); t != s->at;
	     t = tokens_sibling(&s->tokens, t))
		previous = t;
	if (next) {
		to = token_begin(&s->tokens.at[next]);
	} else if (previous) {
		from = s->tokens.at[previous].end;
	} else {
		from = s->tokens.at[token->parent].start + 1;
		to = s->tokens.at[token->parent].end - 1;
	}
	put_text(s, 0, from);
	put_text(s, to, s->len);
	return 0;
}

static int
splice(const char *text, size_t len, const char *pointer, const char *value,
       int (*change)(struct splice *, const char *), char **out, size_t *out_len)
{
	struct splice s = {.text = text, .len = (uint32_t)len};
	int error = tokens_scan(text, len, &s.tokens);

	*out = NULL;
	if (error < 0)
		return error;
	s.out = open_memstream(out, out_len);
	error = !s.out ? -ENOMEM : s.tokens.count == 0 ? SPLICE_EPARENT : follow(&s, pointer);
	if (error == 0)
		error = change(&s, value);
	if (s.out && fclose(s.out) != 0 && error == 0)
		error = -ENOMEM;
	tokens_free(&s.tokens);
	if (error == 0)
		return 0;
	free(*out);
	*out = NULL;
	return error;
}

int
splice_set(const char *text, size_t len, const char *pointer, const char *value, char **out,
           size_t *out_len)
{
	return splice(text, len, pointer, value, set, out, out_len);
}

int
splice_unset(const char *text, size_t len, const char *pointer, char **out, size_t *out_len)
{
	return splice(text, len, pointer, NULL, unset, out, out_len);
}
