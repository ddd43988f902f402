/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/reader.h"
#include "text/duration.h"
#include "text/names.h"
#include "text/suggest.h"

#define FIELDS_MAX 32 /* of one object, for suggestions */

static void
expected(struct reader *reader, uint32_t token, const char *what)
{
	report_value(reader->report, CONFIG_ERROR, token, "expected %s, got %s", what,
	             report_got(reader->report, token).text);
}

/* Comments are for people: text, or lines of it. Where names are free, an object of that name
 * is none. */
static bool
is_comment(const char *name, const json_t *json)
{
	return (strcmp(name, "comment") == 0 || strcmp(name, "$schema") == 0) &&
	       (json_is_string(json) || json_is_array(json));
}

/*
 * jansson has kept the last of the members that share a name, so that is the one to visit.
 * `last` maps names to it; the names are read from the text again, for that is where all are.
 */
static json_t *
find_last(struct reader *reader, uint32_t object)
{
	struct report *r = reader->report;
	json_t *last = json_object();

	for (uint32_t t = tokens_first(r->tokens, object); t && last;
	     t = tokens_sibling(r->tokens, t)) {
		uint32_t key = r->tokens->at[t].key;
		json_t *name =
			json_loadb(r->text + key, text_string_end(r->text, r->len, key) - key,
		                   JSON_DECODE_ANY, NULL);
		const char *text = json_string_value(name);
		json_t *before = text ? json_object_get(last, text) : NULL;

		if (before && r->count < REPORT_MAX) {
			uint32_t other = (uint32_t)json_integer_value(before);
			struct text_place place = report_place(r, r->tokens->at[other].key);

			report_name(r, CONFIG_ERROR, t,
			            "given before, at line %" PRIu32 ", column %" PRIu32,
			            place.line, place.column);
		}
		if (text)
			json_object_set_new(last, text, json_integer(t));
		json_decref(name);
	}
	return last;
}

static void
each_distinct(struct reader *reader, struct node object, visit_member *visit, void *arg)
{
	json_t *last = find_last(reader, object.token), *json;
	const char *name;

	json_object_foreach(object.json, name, json)
	{
		struct node node = {json,
		                    (uint32_t)json_integer_value(json_object_get(last, name))};

		if (node.token > 0 && !is_comment(name, json))
			visit(reader, name, node, arg);
	}
	if (!last)
		report_memory(reader->report);
	json_decref(last);
}

/* jansson iterates in the order of the text, so both can be walked side by side. */
void
each_member(struct reader *reader, struct node object, visit_member *visit, void *arg)
{
	const struct tokens *tokens = reader->report->tokens;
	uint32_t token;
	const char *name;
	json_t *json;

	if (!json_is_object(object.json)) {
		expected(reader, object.token, "an object");
		return;
	}
	if (tokens_count(tokens, object.token) != json_object_size(object.json)) {
		each_distinct(reader, object, visit, arg);
		return;
	}
	token = tokens_first(tokens, object.token);
	json_object_foreach(object.json, name, json)
	{
		if (!is_comment(name, json))
			visit(reader, name, (struct node){json, token}, arg);
		token = tokens_sibling(tokens, token);
	}
}

void
each_element(struct reader *reader, struct node array, visit_element *visit, void *arg)
{
	const struct tokens *tokens = reader->report->tokens;
	uint32_t token;
	size_t i;
	json_t *json;

	if (!json_is_array(array.json)) {
		expected(reader, array.token, "an array");
		return;
	}
	token = tokens_first(tokens, array.token);
	json_array_foreach(array.json, i, json)
	{
		visit(reader, i, (struct node){json, token}, arg);
		token = tokens_sibling(tokens, token);
	}
}

struct field_walk {
	const struct field *const *tables;
	struct value *values;
};

static void
complain_unknown(struct reader *reader, const struct field *const *tables, const char *name,
                 uint32_t token)
{
	const char *names[FIELDS_MAX + 1] = {0};
	const char *near;
	int count = 0;

	for (; *tables; tables++)
		for (const struct field *field = *tables; field->name && count < FIELDS_MAX;
		     field++)
			if (field->name[0])
				names[count++] = field->name;
	near = suggest(name, names);
	if (near)
		report_name(reader->report, CONFIG_ERROR, token,
		            "unknown field; did you mean \"%s\"?", near);
	else
		report_name(reader->report, CONFIG_ERROR, token, "unknown field");
}

static const struct field *
find_field(const struct field *const *tables, const char *name)
{
	for (; *tables; tables++)
		for (const struct field *field = *tables; field->name; field++)
			if (field->name[0] && strcmp(field->name, name) == 0)
				return field;
	return NULL;
}

static void
visit_field(struct reader *reader, const char *name, struct node node, void *arg)
{
	struct field_walk *walk = arg;
	const struct field *field = find_field(walk->tables, name);

	if (field)
		field->read(reader, field, node, walk->values);
	else if (strcmp(name, "comment") == 0 || strcmp(name, "$schema") == 0)
		expected(reader, node.token, "a string, or an array of strings");
	else
		complain_unknown(reader, walk->tables, name, node.token);
}

void
read_fields(struct reader *reader, struct node object, const struct field *const *tables,
            struct value *values)
{
	struct field_walk walk = {tables, values};

	each_member(reader, object, visit_field, &walk);
}

void
value_set(struct reader *reader, struct value *values, int id, struct value value)
{
	if (values[id].token > 0 && values[id].token != value.token) {
		char *pointer = report_pointer(reader->report, values[id].token);

		report_name(reader->report, CONFIG_ERROR, value.token, "says again what %s says",
		            pointer ? pointer : "another field");
		free(pointer);
		return;
	}
	values[id] = value;
}

static void
set_number(struct reader *reader, const struct field *field, struct node node, struct value *values,
           uint64_t number)
{
	value_set(reader, values, field->id,
	          (struct value){.token = node.token, .number = number, .json = node.json});
}

static void
set_bad(struct reader *reader, const struct field *field, struct node node, struct value *values,
        const char *wanted)
{
	expected(reader, node.token, wanted);
	value_set(reader, values, field->id, (struct value){.token = node.token, .is_bad = true});
}

void
read_count(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	json_int_t number = json_integer_value(node.json);
	char wanted[80];

	if (json_is_integer(node.json) && number >= 0 && (uint64_t)number >= field->least &&
	    (uint64_t)number <= field->most) {
		set_number(reader, field, node, values, (uint64_t)number);
		return;
	}
	snprintf(wanted, sizeof(wanted), "an integer from %" PRIu64 " to %" PRIu64, field->least,
	         field->most);
	set_bad(reader, field, node, values, wanted);
}

void
read_flag(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	if (json_is_boolean(node.json))
		set_number(reader, field, node, values, json_is_true(node.json));
	else
		set_bad(reader, field, node, values, "true or false");
}

/* One of the words, or else a message that lists them, with the nearest to what stands there. */
void
read_word(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	const char *word = json_string_value(node.json);
	int found = word ? name_find(field->words, word) : -1;
	char wanted[160] = "";

	if (found >= 0) {
		set_number(reader, field, node, values, (uint64_t)found);
		return;
	}
	for (int i = 0; field->words[i]; i++) {
		size_t used = strlen(wanted);

		snprintf(wanted + used, sizeof(wanted) - used, "%s\"%s\"",
		         i == 0 ? "" : (field->words[i + 1] ? ", " : " or "), field->words[i]);
	}
	set_bad(reader, field, node, values, wanted);
}

void
read_text(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	if (json_is_string(node.json))
		set_number(reader, field, node, values, 0);
	else
		set_bad(reader, field, node, values, "a string");
}

void
read_any(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	set_number(reader, field, node, values, 0);
}

static void
bad_range(struct reader *reader, const struct field *field, struct node node, struct value *values,
          const char *form)
{
	char wanted[120];

	snprintf(wanted, sizeof(wanted), "%s from %s to %s", form,
	         duration_format(field->least).text, duration_format(field->most).text);
	set_bad(reader, field, node, values, wanted);
}

static bool
is_within(const struct field *field, uint64_t number)
{
	return number >= field->least && number <= field->most;
}

/*
 * A number of seconds, to the nanosecond. A double knows it to less than one up to 48 days, and to
 * four at 400 days; a duration is exact.
 */
void
read_seconds(struct reader *reader, const struct field *field, struct node node,
             struct value *values)
{
	double seconds = json_number_value(node.json);
	double most = (double)(field->most / RL_SECOND) + 1;
	uint64_t ns = 0;

	if (json_is_number(node.json) && seconds >= 0 && seconds <= most)
		ns = (uint64_t)(seconds * (double)RL_SECOND + 0.5);
	if (is_within(field, ns) && json_is_number(node.json) && seconds >= 0)
		set_number(reader, field, node, values, ns);
	else
		bad_range(reader, field, node, values, "a number of seconds,");
}

void
read_duration(struct reader *reader, const struct field *field, struct node node,
              struct value *values)
{
	const char *text = json_string_value(node.json);
	const char *wrong = NULL;
	uint64_t ns = 0;

	if (text)
		wrong = duration_parse(text, &ns);
	if (text && !wrong && is_within(field, ns)) {
		set_number(reader, field, node, values, ns);
		return;
	}
	if (!wrong) {
		bad_range(reader, field, node, values, "a duration such as \"10m\",");
		return;
	}
	report_value(reader->report, CONFIG_ERROR, node.token, "%s %s",
	             report_got(reader->report, node.token).text, wrong);
	value_set(reader, values, field->id, (struct value){.token = node.token, .is_bad = true});
}
