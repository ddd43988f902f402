/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokens.h"

#define FIRST_ROOM 64

struct scan {
	const char *text;
	uint32_t len;
	uint32_t at;
	uint32_t key;     /* of the value to come */
	uint32_t current; /* the object or array we are in */
	uint32_t room;
	struct tokens *tokens;
};

static struct token *
append(struct scan *s, uint32_t start)
{
	struct tokens *tokens = s->tokens;
	struct token *token;

	if (tokens->count == s->room) {
		uint32_t room = s->room ? s->room * 2 : FIRST_ROOM;
		struct token *more = reallocarray(tokens->at, room, sizeof(*more));

		if (!more)
			return NULL;
		tokens->at = more;
		s->room = room;
	}
	token = &tokens->at[tokens->count++];
	*token = (struct token){.key = s->key, .start = start, .parent = s->current};
	s->key = 0;
	return token;
}

static void
finish(struct scan *s, struct token *token)
{
	token->end = s->at;
	token->next = s->tokens->count;
}

uint32_t
text_string_end(const char *text, uint32_t len, uint32_t start)
{
	for (uint32_t at = start + 1; at < len; at++) {
		if (text[at] == '"')
			return at + 1;
		if (text[at] == '\\' && at + 1 < len)
			at++;
	}
	return len;
}

static void
skip_blanks(struct scan *s)
{
	while (s->at < s->len && strchr(" \t\r\n,", s->text[s->at]) && s->text[s->at])
		s->at++;
}

/* In an object every other string is a name: a colon follows it. */
static int
take_string(struct scan *s)
{
	uint32_t start = s->at, end = text_string_end(s->text, s->len, start);
	struct token *token;

	s->at = end;
	skip_blanks(s);
	if (s->at < s->len && s->text[s->at] == ':') {
		s->key = start;
		s->at++;
		return 0;
	}
	token = append(s, start);
	if (!token)
		return -ENOMEM;
	finish(s, token);
	token->end = end;
	return 0;
}

static int
take_word(struct scan *s)
{
	struct token *token = append(s, s->at);

	if (!token)
		return -ENOMEM;
	do
		s->at++;
	while (s->at < s->len && !strchr(" \t\r\n,:]}", s->text[s->at]));
	finish(s, token);
	return 0;
}

static int
take_open(struct scan *s)
{
	if (!append(s, s->at))
		return -ENOMEM;
	s->current = s->tokens->count - 1;
	s->at++;
	return 0;
}

static void
take_close(struct scan *s)
{
	s->at++;
	if (s->tokens->count == 0)
		return;
	finish(s, &s->tokens->at[s->current]);
	s->current = s->tokens->at[s->current].parent;
}

static int
take(struct scan *s)
{
	switch (s->text[s->at]) {
	case '{':
	case '[':
		return take_open(s);
	case '}':
	case ']':
		take_close(s);
		return 0;
	case '"':
		return take_string(s);
	default:
		return take_word(s);
	}
}

int
tokens_scan(const char *text, size_t len, struct tokens *tokens)
{
	struct scan s = {.text = text, .tokens = tokens};
	int error = 0;

	*tokens = (struct tokens){0};
	if (len > TOKENS_TEXT_MAX)
		return -EFBIG;
	s.len = (uint32_t)len;
	for (skip_blanks(&s); s.at < s.len && error == 0; skip_blanks(&s))
		error = take(&s);
	if (error < 0)
		tokens_free(tokens);
	return error;
}

void
tokens_free(struct tokens *tokens)
{
	free(tokens->at);
	*tokens = (struct tokens){0};
}

uint32_t
tokens_first(const struct tokens *tokens, uint32_t parent)
{
	return parent + 1 < tokens->at[parent].next ? parent + 1 : 0;
}

uint32_t
tokens_sibling(const struct tokens *tokens, uint32_t token)
{
	const struct token *t = &tokens->at[token];

	return t->next < tokens->at[t->parent].next ? t->next : 0;
}

size_t
tokens_count(const struct tokens *tokens, uint32_t parent)
{
	size_t count = 0;

	for (uint32_t t = tokens_first(tokens, parent); t; t = tokens_sibling(tokens, t))
		count++;
	return count;
}
