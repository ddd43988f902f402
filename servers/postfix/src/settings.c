/* SPDX-License-Identifier: BSD-2-Clause */
/* The file: JSON, every field of which is known and has its type. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policyd.h"

#define FILE_MAX (1024 * 1024)
#define DENY "DEFER 4.7.1 Too much mail, try again in {seconds} seconds"
#define NEVER "REJECT 5.7.1 More than is allowed at all"

/* Where the first fault is told. */
struct fault {
	char *text;
	size_t size;
	bool is_one;
};

static bool __attribute__((format(printf, 2, 3)))
refuse(struct fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!fault->is_one)
		vsnprintf(fault->text, fault->size, format, args);
	va_end(args);
	fault->is_one = true;
	return false;
}

static bool
read_text(struct fault *fault, const char *where, const json_t *value, char *to, size_t size)
{
	const char *text = json_string_value(value);

	if (!text || json_string_length(value) >= size || strlen(text) != json_string_length(value))
		return refuse(fault, "%s: a text of at most %zu bytes is expected", where,
		              size - 1);
	strcpy(to, text);
	return true;
}

static bool
is_placeholder(const char *text)
{
	return strncmp(text, "{seconds}", 9) == 0 || strncmp(text, "{limit}", 7) == 0 ||
	       strncmp(text, "{rule}", 6) == 0;
}

/* An action is one line; what stands in braces is known. */
static bool
read_action(struct fault *fault, const char *where, const json_t *value, char *to)
{
	if (!read_text(fault, where, value, to, ACTION_SIZE))
		return false;
	if (!to[0])
		return refuse(fault, "%s: it is empty; an action of access(5) is expected", where);
	for (const char *c = to; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(fault, "%s: control characters are not allowed", where);
		if (*c == '{' && !is_placeholder(c))
			return refuse(fault, "%s: %.12s: {seconds}, {limit} and {rule} are known",
			              where, c);
	}
	return true;
}

/* The name of an attribute or of a state, one of those that Postfix has. */
static bool
read_word(struct fault *fault, const char *where, const json_t *value, const char *const known[],
          char *to)
{
	const char *nearest;

	if (!read_text(fault, where, value, to, NAME_SIZE))
		return false;
	nearest = word_nearest(to, known);
	if (strcmp(nearest, to) == 0)
		return true;
	return refuse(fault, "%s: Postfix has no '%s'; is '%s' meant?", where, to, nearest);
}

/* A text, or a list of them. */
static bool
read_words(struct fault *fault, const char *where, const json_t *value, const char *const known[],
           char (*to)[NAME_SIZE], size_t most, size_t *count)
{
	if (json_is_string(value)) {
		*count = 1;
		return read_word(fault, where, value, known, to[0]);
	}
	*count = json_array_size(value);
	if (*count < 1 || *count > most)
		return refuse(fault, "%s: a text, or a list of 1 to %zu, is expected", where, most);
	for (size_t i = 0; i < *count; i++)
		if (!read_word(fault, where, json_array_get(value, i), known, to[i]))
			return false;
	return true;
}

static bool
read_check_field(struct fault *fault, const char *where, const char *name, const json_t *value,
                 struct check *check)
{
	if (strcmp(name, "rule") == 0)
		return read_text(fault, where, value, check->rule, sizeof check->rule);
	if (strcmp(name, "key") == 0)
		return read_words(fault, where, value, postfix_attributes, check->key, PARTS_MAX,
		                  &check->key_parts);
	if (strcmp(name, "state") == 0)
		return read_words(fault, where, value, postfix_states, check->states, STATES_MAX,
		                  &check->state_count);
	if (strcmp(name, "cost") == 0)
		return read_word(fault, where, value, postfix_attributes, check->cost);
	if (strcmp(name, "deny") == 0)
		return read_action(fault, where, value, check->deny);
	if (strcmp(name, "never") == 0)
		return read_action(fault, where, value, check->never);
	if (strcmp(name, "lowercase") != 0)
		return refuse(fault, "%s: there is no such field", where);
	if (!json_is_boolean(value))
		return refuse(fault, "%s: true or false is expected", where);
	check->is_lowercase = json_is_true(value);
	return true;
}

static bool
read_check(struct fault *fault, size_t at, json_t *object, struct check *check)
{
	char where[128];
	const char *name;
	json_t *value;

	*check = (struct check){.key = {"sasl_username"},
	                        .key_parts = 1,
	                        .is_lowercase = true,
	                        .deny = DENY,
	                        .never = NEVER};
	if (!json_is_object(object))
		return refuse(fault, "/checks/%zu: an object is expected", at);
	json_object_foreach(object, name, value)
	{
		snprintf(where, sizeof where, "/checks/%zu/%s", at, name);
		if (!read_check_field(fault, where, name, value, check))
			return false;
	}
	if (!check->rule[0])
		return refuse(fault, "/checks/%zu: \"rule\" is missing", at);
	return true;
}

static bool
read_checks(struct fault *fault, const json_t *list, struct settings *s)
{
	s->check_count = json_array_size(list);
	if (s->check_count < 1 || s->check_count > CHECKS_MAX)
		return refuse(fault, "/checks: a list of 1 to %d is expected", CHECKS_MAX);
	for (size_t i = 0; i < s->check_count; i++)
		if (!read_check(fault, i, json_array_get(list, i), &s->checks[i]))
			return false;
	return true;
}

static bool
read_listen(struct fault *fault, const json_t *list, struct settings *s)
{
	char where[32];

	s->listen_count = json_array_size(list);
	if (s->listen_count < 1 || s->listen_count > LISTEN_MAX)
		return refuse(fault, "/listen: a list of 1 to %d is expected", LISTEN_MAX);
	for (size_t i = 0; i < s->listen_count; i++) {
		snprintf(where, sizeof where, "/listen/%zu", i);
		if (!read_text(fault, where, json_array_get(list, i), s->listen[i],
		               sizeof s->listen[i]))
			return false;
	}
	return true;
}

static bool
read_mode(struct fault *fault, const json_t *value, struct settings *s)
{
	const char *text = json_string_value(value);
	char *end;
	unsigned long mode = text ? strtoul(text, &end, 8) : 0;

	if (!text || *end || end == text || mode > 0777)
		return refuse(fault, "/mode: permission bits such as \"0660\" are expected");
	s->mode = (mode_t)mode;
	return true;
}

static bool
read_field(struct fault *fault, const char *name, const json_t *value, struct settings *s)
{
	if (strcmp(name, "segment") == 0)
		return read_text(fault, "/segment", value, s->segment, sizeof s->segment);
	if (strcmp(name, "checks") == 0)
		return read_checks(fault, value, s);
	if (strcmp(name, "listen") == 0)
		return read_listen(fault, value, s);
	if (strcmp(name, "mode") == 0)
		return read_mode(fault, value, s);
	if (strcmp(name, "allow") == 0)
		return read_action(fault, "/allow", value, s->allow);
	if (strcmp(name, "error") == 0)
		return read_action(fault, "/error", value, s->error);
	return refuse(fault, "/%s: there is no such field", name);
}

static bool
read_all(struct fault *fault, json_t *root, struct settings *s)
{
	struct rl_place place;
	const char *name;
	json_t *value;

	if (!json_is_object(root))
		return refuse(fault, "an object is expected");
	json_object_foreach(root, name, value) if (!read_field(fault, name, value, s)) return false;
	if (s->check_count == 0)
		return refuse(fault, "\"checks\" is missing");
	if (rl_place(s->segment, NULL, &place) < 0)
		return refuse(fault, "/segment: '%s' is no name of a segment", s->segment);
	return true;
}

/* A regular file alone: nothing that has no end, or waits. */
static json_t *
load(struct fault *fault, const char *path)
{
	struct stat st;
	json_error_t error;
	json_t *root;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		refuse(fault, "it cannot be read, or is no file of at most %d bytes", FILE_MAX);
		return NULL;
	}
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		refuse(fault, "%d:%d: %s", error.line, error.column, error.text);
	return root;
}

bool
settings_read(const char *path, struct settings *settings, char *text, size_t size)
{
	struct settings s = {
		.segment = "default", .mode = 0660, .allow = "DUNNO", .error = "DUNNO"};
	struct fault fault = {text, size, false};
	json_t *root = load(&fault, path);
	bool is_good = root && read_all(&fault, root, &s);

	json_decref(root);
	if (is_good)
		*settings = s;
	return is_good;
}
