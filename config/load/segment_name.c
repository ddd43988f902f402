/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a file of a hundred thousand overrides takes a second, and who asks for a name has
 * another question. So the values are found where they stand, and that one alone is read. Of a text
 * that is no JSON, no name or another text comes out, and never more than is in the file.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/segment_name.h"
#include "text/file.h"
#include "text/tokens.h"

/* The member of that name; 0 if there is none. */
static uint32_t
member(const char *text, const struct tokens *tokens, uint32_t parent, const char *name)
{
	size_t len = strlen(name);
	uint32_t at = tokens_first(tokens, parent);

	for (; at != 0; at = tokens_sibling(tokens, at)) {
		uint32_t key = tokens->at[at].key;

		if (key > 0 && strncmp(text + key + 1, name, len) == 0 &&
		    text[key + 1 + len] == '"')
			return at;
	}
	return 0;
}

static bool
read_name(const char *text, const struct token *token, char name[RL_NAME_MAX + 1])
{
	json_t *json =
		json_loadb(text + token->start, token->end - token->start, JSON_DECODE_ANY, NULL);
	size_t len = json_string_length(json);
	bool is_name = len > 0 && len <= RL_NAME_MAX;

	if (is_name)
		memcpy(name, json_string_value(json), len + 1);
	json_decref(json);
	return is_name;
}

bool
config_segment_name(const char *path, char name[RL_NAME_MAX + 1])
{
	struct tokens tokens = {0};
	uint32_t segment = 0, token = 0;
	bool is_found = false;
	char *text = NULL;
	size_t len;

	if (file_read(path, CONFIG_BYTES_MAX, &text, &len) == 0 &&
	    tokens_scan(text, len, &tokens) == 0 && tokens.count > 0)
		segment = member(text, &tokens, 0, "segment");
	if (segment != 0)
		token = member(text, &tokens, segment, "name");
	if (token != 0)
		is_found = read_name(text, &tokens.at[token], name);
	tokens_free(&tokens);
	free(text);
	return is_found;
}
