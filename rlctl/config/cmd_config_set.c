/* SPDX-License-Identifier: BSD-2-Clause */
/* config set, config unset: change one value of the file, and nothing else in it. */

#include <edit/splice.h>
#include <errno.h>
#include <read/json_text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/suggest.h>

#include "base/output.h"
#include "config/config_change.h"

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

/* The rule that a pointer leads to, to be freed; NULL if it leads elsewhere. */
static char *
rule_in(const char *pointer)
{
	static const char rules[] = "/rules/";
	const char *from = pointer + strlen(rules);
	char *name, *to;

	if (strncmp(pointer, rules, strlen(rules)) != 0)
		return NULL;
	name = to = need(malloc(strlen(from) + 1));
	for (; *from && *from != '/'; from++)
		*to++ = *from != '~' || !from[1] ? *from : *++from == '0' ? '~' : '/';
	*to = '\0';
	return name;
}

static void
complain_rule(const char *pointer, const char *name, json_t *rules)
{
	const char **names = need(calloc(json_object_size(rules) + 1, sizeof(*names)));
	const char *rule, *near;
	size_t count = 0;
	json_t *value;

	json_object_foreach(rules, rule, value) names[count++] = rule;
	near = suggest(name, names);
	if (near)
		complain("path '%s': there is no rule '%s'; did you mean '%s'? --create makes it",
		         pointer, name, near);
	else
		complain("path '%s': there is no rule '%s'; --create makes it", pointer, name);
	free(names);
}

/* A name that is mistyped must not become a rule, in force at once and for nobody. */
static bool
may_set(const struct context *context, const struct locked_file *file, const char *pointer)
{
	json_t *root = json_loadb(file->text, file->len, 0, NULL);
	json_t *rules = json_object_get(root, "rules");
	char *name = rule_in(pointer);
	bool may = !name || option_value(context, "create") || json_object_get(rules, name);

	if (!may)
		complain_rule(pointer, name, rules);
	free(name);
	json_decref(root);
	return may;
}

/* Only a text that can be read can be changed in one place. */
static bool
is_json(const struct locked_file *file)
{
	json_t *root = json_text_read(file->path, file->text, file->len, config_say, NULL);

	json_decref(root);
	return root != NULL;
}

/* `value` NULL takes it out. */
static int
change_text(const struct context *context, const struct locked_file *file, const char *pointer,
            const char *value)
{
	char *text = NULL;
	size_t len = 0;
	int error, status;
	bool is_bad;

	error = value ? splice_set(file->text, file->len, pointer, value, &text, &len)
	              : splice_unset(file->text, file->len, pointer, &text, &len);
	if (error == 0)
		status = change_commit(context, file, text, len, &is_bad);
	else
		status = error == SPLICE_EABSENT ? EXIT_NO : EXIT_TROUBLE;
	if (error < 0)
		complain_pointer(pointer, error);
	free(text);
	return status;
}

static int
change(const struct context *context, const char *pointer, const char *value)
{
	struct locked_file file;
	int status = EXIT_NO;

	if (!change_lock(context, LOCK_WAIT_MS, &file))
		return EXIT_TROUBLE;
	if (is_json(&file) && (!value || may_set(context, &file, pointer)))
		status = change_text(context, &file, pointer, value);
	file_unlock(&file);
	return status;
}

int
config_set(const struct context *context)
{
	char *value = value_text(context->operands[1]);
	int status = value ? change(context, context->operands[0], value) : EXIT_TROUBLE;

	free(value);
	return status;
}

int
config_unset(const struct context *context)
{
	return change(context, context->operands[0], NULL);
}
