/* SPDX-License-Identifier: BSD-2-Clause */
/* config set, config unset: change one value of the file, and nothing else in it. */

#include <errno.h>
#include <splice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_change.h"
#include "output.h"

/*
 * A value as JSON, to be freed: what is JSON stands for itself, other words for a string, so that
 * 10m needs no quotes. What begins as JSON must be some. NULL after a message.
 */
static char *
value_text(const char *word)
{
	json_error_t error;
	json_t *json = json_loads(word, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	char *text;

	if (json) {
		json_decref(json);
		return need(strdup(word));
	}
	if (strchr("{[\"", *word) && *word) {
		complain("value '%s': %s", word, error.text);
		return NULL;
	}
	json = json_string(word);
	if (!json) {
		complain("the value is not UTF-8");
		return NULL;
	}
	text = need(json_dumps(json, JSON_ENCODE_ANY));
	json_decref(json);
	return text;
}

static void
complain_pointer(const char *pointer, int error)
{
	switch (error) {
	case SPLICE_EPOINTER:
		complain("path '%s': expected one such as /rules/login/capacity", pointer);
		break;
	case SPLICE_EABSENT:
		complain("path '%s': there is no such value", pointer);
		break;
	case SPLICE_EPARENT:
		complain("path '%s': a part of it is neither object nor array", pointer);
		break;
	default:
		complain("path '%s': %s", pointer, strerror(-error));
	}
}

/* Only a text that can be read can be changed in one place. */
static bool
is_json(const struct locked_file *file)
{
	json_error_t error;
	json_t *root = json_loadb(file->text, file->len, 0, &error);

	if (!root)
		fprintf(stderr, "%s:%d:%d: %s\n", file->path, error.line, error.column, error.text);
	json_decref(root);
	return root != NULL;
}

/* `value` NULL takes it out. */
static int
change(const struct context *context, const char *pointer, const char *value)
{
	struct locked_file file;
	char *text = NULL;
	size_t len = 0;
	int error, status = EXIT_NO;
	bool is_bad;

	if (!change_lock(context, LOCK_WAIT_MS, &file))
		return EXIT_TROUBLE;
	if (is_json(&file)) {
		error = value ? splice_set(file.text, file.len, pointer, value, &text, &len)
		              : splice_unset(file.text, file.len, pointer, &text, &len);
		if (error < 0) {
			complain_pointer(pointer, error);
			status = error == SPLICE_EABSENT ? EXIT_NO : EXIT_TROUBLE;
		} else {
			status = change_commit(context, &file, text, len, &is_bad);
		}
	}
	free(text);
	file_unlock(&file);
	return status;
}

int
config_set(const struct context *context, char **operands)
{
	char *value = value_text(operands[1]);
	int status = value ? change(context, operands[0], value) : EXIT_TROUBLE;

	free(value);
	return status;
}

int
config_unset(const struct context *context, char **operands)
{
	return change(context, operands[0], NULL);
}
