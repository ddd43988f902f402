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
		if (*c == '{' && placeholder_at(c) == PLACEHOLDERS)
			return refuse(fault,
			              "%s: %.12s: {seconds}, {limit}, {remaining} and {rule} are "
			              "known",
			              where, c);
	}
	return true;
}

/* The name of an attribute or of a state is one of those that Postfix has. */
static bool
is_known(struct fault *fault, const char *where, const char *name, const char *const known[])
{
	const char *nearest = word_nearest(name, known);

	if (strcmp(nearest, name) == 0)
		return true;
	return refuse(fault, "%s: Postfix has no '%s'; is '%s' meant?", where, name, nearest);
}

static bool
read_attribute(struct fault *fault, const char *where, const json_t *value, void *to)
{
	return read_text(fault, where, value, to, NAME_SIZE) &&
	       is_known(fault, where, to, postfix_attributes);
}

static bool
read_state(struct fault *fault, const char *where, const json_t *value, void *to)
{
	return read_text(fault, where, value, to, NAME_SIZE) &&
	       is_known(fault, where, to, postfix_states);
}

static bool
read_part_text(struct fault *fault, const char *where, const char *text, struct part *part)
{
	const char *wrong = part_read(text, part);

	if (wrong)
		return refuse(fault, "%s: '%s': %s", where, text, wrong);
	return is_known(fault, where, part->name, postfix_attributes);
}

static bool
read_part(struct fault *fault, const char *where, const json_t *value, void *to)
{
	char text[NAME_SIZE + 32];

	return read_text(fault, where, value, text, sizeof text) &&
	       read_part_text(fault, where, text, to);
}

static bool
read_path(struct fault *fault, const char *where, const json_t *value, void *to)
{
	return read_text(fault, where, value, to, 256);
}

/* Reads one value of a list into its place, of `size` bytes. */
struct place {
	bool (*read)(struct fault *fault, const char *where, const json_t *value, void *to);
	void *to;
	size_t size, most;
};

/* One, or a list of them. */
static bool
read_list(struct fault *fault, const char *where, const json_t *value, struct place place,
          size_t *count)
{
	if (json_is_string(value)) {
		*count = 1;
		return place.read(fault, where, value, place.to);
	}
	*count = json_array_size(value);
	if (*count < 1 || *count > place.most)
		return refuse(fault, "%s: a text, or a list of 1 to %zu, is expected", where,
		              place.most);
	for (size_t i = 0; i < *count; i++)
		if (!place.read(fault, where, json_array_get(value, i),
		                (char *)place.to + i * place.size))
			return false;
	return true;
}

static bool
read_term_value(struct fault *fault, const char *where, const json_t *value, struct term *term)
{
	char text[VALUE_MAX], why[256];
	const char *wrong;

	if (!read_text(fault, where, value, text, sizeof text))
		return false;
	wrong = term_add(term, text, why, sizeof why);
	return !wrong || refuse(fault, "%s: '%.80s' %s", where, text, wrong);
}

/* A value of the part, or a list of them. */
static bool
read_term(struct fault *fault, const char *where, const json_t *value, struct term *term)
{
	bool is_good = true;

	if (json_is_string(value))
		is_good = read_term_value(fault, where, value, term);
	else if (json_array_size(value) < 1)
		return refuse(fault, "%s: a text, or a list of them, is expected", where);
	for (size_t i = 0; is_good && i < json_array_size(value); i++)
		is_good = read_term_value(fault, where, json_array_get(value, i), term);
	term_sort(term);
	return is_good;
}

static bool
read_conditions(struct fault *fault, const char *where, json_t *object,
                struct conditions *conditions)
{
	char there[224];
	const char *name;
	json_t *value;

	if (json_object_size(object) < 1 || json_object_size(object) > TERMS_MAX)
		return refuse(fault, "%s: an object of 1 to %d attributes is expected", where,
		              TERMS_MAX);
	json_object_foreach(object, name, value)
	{
		struct term *term = &conditions->terms[conditions->count++];

		snprintf(there, sizeof there, "%s/%.80s", where, name);
		if (!read_part_text(fault, where, name, &term->part) ||
		    !read_term(fault, there, value, term))
			return false;
	}
	return true;
}

static bool
read_check_field(struct fault *fault, const char *where, const char *name, json_t *value,
                 struct check *check)
{
	if (strcmp(name, "rule") == 0)
		return read_text(fault, where, value, check->rule, sizeof check->rule);
	if (strcmp(name, "key") == 0)
		return read_list(
			fault, where, value,
			(struct place){read_part, check->key, sizeof *check->key, PARTS_MAX},
			&check->key_parts);
	if (strcmp(name, "if") == 0)
		return read_conditions(fault, where, value, &check->when);
	if (strcmp(name, "unless") == 0)
		return read_conditions(fault, where, value, &check->unless);
	if (strcmp(name, "state") == 0)
		return read_list(fault, where, value,
		                 (struct place){read_state, check->states, NAME_SIZE, STATES_MAX},
		                 &check->state_count);
	if (strcmp(name, "cost") == 0)
		return read_attribute(fault, where, value, check->cost);
	if (strcmp(name, "allow") == 0)
		return read_action(fault, where, value, check->allow);
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

	*check = (struct check){.key = {{.name = "sasl_username"}},
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
	size_t count = json_array_size(list);

	if (count < 1 || count > CHECKS_MAX)
		return refuse(fault, "/checks: a list of 1 to %d is expected", CHECKS_MAX);
	while (s->check_count < count) {
		size_t at = s->check_count++;

		if (!read_check(fault, at, json_array_get(list, at), &s->checks[at]))
			return false;
	}
	return true;
}

static bool
read_report(struct fault *fault, json_t *object, struct report *report)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object) || !json_object_get(object, "events"))
		return refuse(fault, "/report: an object with \"events\", a file of rld "
		                     "--events-file, is expected");
	json_object_foreach(object, name, value)
	{
		bool is_good;

		if (strcmp(name, "events") == 0)
			is_good = read_list(
				fault, "/report/events", value,
				(struct place){read_path, report->events, 256, EVENTS_MAX},
				&report->events_count);
		else if (strcmp(name, "command") == 0)
			is_good = read_list(
				fault, "/report/command", value,
				(struct place){read_path, report->command, 256, COMMAND_MAX},
				&report->command_words);
		else
			return refuse(fault, "/report/%s: there is no such field", name);
		if (!is_good)
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
read_field(struct fault *fault, const char *name, json_t *value, struct settings *s)
{
	if (strcmp(name, "segment") == 0)
		return read_text(fault, "/segment", value, s->segment, sizeof s->segment);
	if (strcmp(name, "checks") == 0)
		return read_checks(fault, value, s);
	if (strcmp(name, "listen") == 0)
		return read_list(fault, "/listen", value,
		                 (struct place){read_path, s->listen, 256, LISTEN_MAX},
		                 &s->listen_count);
	if (strcmp(name, "exempt") == 0)
		return read_conditions(fault, "/exempt", value, &s->exempt);
	if (strcmp(name, "report") == 0)
		return read_report(fault, value, &s->report);
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

static void
forget(struct settings *s)
{
	conditions_free(&s->exempt);
	for (size_t i = 0; i < s->check_count; i++) {
		conditions_free(&s->checks[i].when);
		conditions_free(&s->checks[i].unless);
	}
}

bool
settings_read(const char *path, struct settings *settings, char *text, size_t size)
{
	static struct settings s;
	struct fault fault = {text, size, false};
	json_t *root = load(&fault, path);
	bool is_good;

	s = (struct settings){
		.segment = "default", .mode = 0660, .allow = "DUNNO", .error = "DUNNO"};
	is_good = root && read_all(&fault, root, &s);
	json_decref(root);
	forget(is_good ? settings : &s);
	if (is_good)
		*settings = s;
	return is_good;
}
