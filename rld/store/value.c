/* SPDX-License-Identifier: BSD-2-Clause */
#include "value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As deep as the protocol's reader goes, which is seven. */
void
store_value_free(struct store_value *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->count; i++)
		store_value_free(v->items[i]);
	free(v->items);
	free(v->text);
	free(v);
}

bool
store_is_error(const struct store_value *v, const char *word)
{
	size_t size = strlen(word);

	return v && v->type == STORE_ERROR && strncmp(v->text, word, size) == 0 &&
	       (v->text[size] == ' ' || v->text[size] == '\0');
}

const struct store_value *
store_item(const struct store_value *v, size_t i)
{
	return v && v->type == STORE_ARRAY && i < v->count ? v->items[i] : NULL;
}

int64_t
store_integer(const struct store_value *v, int64_t otherwise)
{
	char *end;
	long long n;

	if (v && v->type == STORE_INTEGER)
		return v->integer;
	if (!v || v->type != STORE_TEXT || v->size == 0)
		return otherwise;
	errno = 0;
	n = strtoll(v->text, &end, 10);
	return *end == '\0' && errno == 0 ? n : otherwise;
}

const char *
store_text(const struct store_value *v)
{
	return v && v->type == STORE_TEXT && v->text ? v->text : "";
}

void
store_line(const char *text, const char *name, char *to, size_t room)
{
	size_t size = strlen(name);

	to[0] = '\0';
	for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, name, size) == 0 && at[size] == ':') {
			snprintf(to, room, "%.*s", (int)strcspn(at + size + 1, "\r\n"),
			         at + size + 1);
			return;
		}
}
