/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/list_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/output.h"
#include "text/duration.h"
#include "text/file.h"

#define BLANKS " \t\r\n\v\f"
#define LIST_BYTES_MAX (256u << 20)
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* as editors of Windows begin a text */

struct reading {
	const char *verb, *path;
	struct list_file *list;
	uint64_t number;
};

static bool
refuse(const struct reading *reading, const char *what, const char *text)
{
	char *shown = escape(text, strlen(text));

	complain("%s: %s: number %" PRIu64 ", '%s', %s", reading->verb, reading->path,
	         reading->number, shown, what);
	free(shown);
	return false;
}

static struct list_entry *
add(struct reading *reading, const char *text, size_t len)
{
	struct list_file *list = reading->list;

	list->items = array_grow(list->items, list->count, &list->room, sizeof(*list->items));
	list->items[list->count] =
		(struct list_entry){.text = need(strndup(text, len)), .number = reading->number};
	return &list->items[list->count++];
}

/* What is behind the first word of a line is a remark, or somebody meant something else. */
static bool
read_line(struct reading *reading, char *line)
{
	char *word = line + strspn(line, BLANKS), *rest;
	size_t len = strcspn(word, BLANKS "#;");

	reading->number++;
	rest = word + len + strspn(word + len, BLANKS);
	if (*rest && *rest != '#' && *rest != ';')
		return refuse(reading, "has more than one word", word);
	if (len > 0)
		add(reading, word, len);
	return true;
}

static bool
read_lines(struct reading *reading, char *text, size_t len)
{
	char *line = text, *end;

	if (strlen(text) != len) {
		complain("%s: %s has a NUL: it is no text", reading->verb, reading->path);
		return false;
	}
	for (; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (!read_line(reading, line))
			return false;
	}
	return true;
}

static bool
is_text(const json_t *object, const char *name, const char *wanted)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && strcasecmp(text, wanted) == 0;
}

/* Of an address or network, and not one that a scenario on trial has only noted. */
static bool
is_ban(const json_t *decision)
{
	return is_text(decision, "type", "ban") &&
	       (is_text(decision, "scope", "Ip") || is_text(decision, "scope", "Range")) &&
	       !json_is_true(json_object_get(decision, "simulated"));
}

/* {"duration": "3h59m", "scenario": "...", "scope": "Ip", "type": "ban", "value": "192.0.2.1"} */
static bool
read_decision(struct reading *reading, const json_t *decision)
{
	const char *value = json_string_value(json_object_get(decision, "value"));
	const char *lasts = json_string_value(json_object_get(decision, "duration"));
	const char *why = json_string_value(json_object_get(decision, "scenario")), *wrong;
	struct list_entry *entry;
	uint64_t lasts_ns = 0;

	reading->number++;
	reading->list->is_of_decisions = true;
	if (!value || !lasts)
		return refuse(reading, "is a decision without value or duration",
		              value ? value : "");
	wrong = *lasts == '-' ? NULL : duration_parse(lasts, &lasts_ns);
	if (wrong)
		return refuse(reading, wrong, lasts);
	if (lasts_ns == 0 || !is_ban(decision)) {
		reading->list->passed_over++;
		return true;
	}
	entry = add(reading, value, strlen(value));
	entry->lasts_ns = lasts_ns;
	entry->reason = why ? need(strdup(why)) : NULL;
	return true;
}

/* A network of a crawler: {"ipv4Prefix": "192.0.2.0/24"} */
static bool
read_prefix(struct reading *reading, const json_t *prefix)
{
	const char *text = json_string_value(json_object_get(prefix, "ipv4Prefix"));

	reading->number++;
	if (!text)
		text = json_string_value(json_object_get(prefix, "ipv6Prefix"));
	if (!text)
		return refuse(reading, "has neither ipv4Prefix nor ipv6Prefix", "prefixes");
	add(reading, text, strlen(text));
	return true;
}

static bool
read_elements(struct reading *reading, const json_t *array,
              bool (*read)(struct reading *reading, const json_t *element))
{
	for (size_t i = 0; i < json_array_size(array); i++)
		if (!read(reading, json_array_get(array, i)))
			return false;
	return true;
}

static bool
read_element(struct reading *reading, const json_t *element)
{
	const json_t *decisions = json_object_get(element, "decisions");
	const char *text = json_string_value(element);

	if (text) {
		reading->number++;
		add(reading, text, strlen(text));
		return true;
	}
	if (json_is_array(decisions) || json_is_null(decisions)) /* an alert; null: it has none */
		return read_elements(reading, decisions, read_decision);
	if (json_is_object(element))
		return read_decision(reading, element);
	reading->number++;
	return refuse(reading, "is neither a text nor a decision", "");
}

static bool
read_root(struct reading *reading, const json_t *root)
{
	const json_t *prefixes = json_object_get(root, "prefixes");

	if (json_is_null(root)) /* cscli's, of no decisions */
		return true;
	if (json_is_array(prefixes))
		return read_elements(reading, prefixes, read_prefix);
	if (json_is_array(root))
		return read_elements(reading, root, read_element);
	complain("%s: %s is JSON of no list that is known here: CrowdSec's decisions, \"prefixes\" "
	         "of crawlers, or an array of texts",
	         reading->verb, reading->path);
	return false;
}

static bool
read_json(struct reading *reading, const char *text, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	bool is_read;

	if (!root) {
		complain("%s: %s: line %d: %s", reading->verb, reading->path, error.line,
		         error.text);
		return false;
	}
	is_read = read_root(reading, root);
	json_decref(root);
	return is_read;
}

static bool
is_json(const char *text)
{
	const char *first = text + strspn(text, BLANKS);

	return *first == '{' || *first == '[' ||
	       (strncmp(first, "null", 4) == 0 && first[4 + strspn(first + 4, BLANKS)] == '\0');
}

bool
list_file_read(const char *verb, const char *path, struct list_file *list)
{
	bool is_stdin = strcmp(path, "-") == 0, is_read;
	struct reading reading = {verb, is_stdin ? "standard input" : path, list, 0};
	char *text = NULL, *begin;
	size_t len = 0, mark;
	int error = is_stdin ? file_read_fd(STDIN_FILENO, LIST_BYTES_MAX, &text, &len)
	                     : file_read(path, LIST_BYTES_MAX, &text, &len);

	*list = (struct list_file){0};
	if (error < 0) {
		complain("%s: %s: %s", verb, reading.path, file_strerror(error));
		return false;
	}
	mark = strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0
	               ? strlen(BYTE_ORDER_MARK)
	               : 0;
	begin = text + mark;
	len -= mark;
	is_read =
		is_json(begin) ? read_json(&reading, begin, len) : read_lines(&reading, begin, len);
	free(text);
	return is_read;
}

void
list_file_free(struct list_file *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].text);
		free(list->items[i].reason);
	}
	free(list->items);
}
