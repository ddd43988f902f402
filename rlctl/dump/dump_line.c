/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/dump_line.h"

#include <rl_fields.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/limit_view.h"
#include "base/rule.h"
#include "key/active_bans.h"
#include "key/usage.h"
#include "text/names.h"

json_t *
dump_header(struct rl *rl)
{
	json_t *root = need(json_object());
	struct rl_info info;

	rl_info(rl, &info);
	json_put(root, "rl_dump", json_count(DUMP_VERSION));
	json_put(root, "segment", json_text(info.name));
	dump_size_put(root, rl, &info);
	return root;
}

json_t *
dump_rule(struct rl *rl, int row)
{
	struct rl_rule_info rule;
	json_t *root, *limits;

	if (!rl_rule_info(rl, row, &rule) || rule.name[0] == '\0' || rule.limit_count == 0 ||
	    rule.source == RL_SOURCE_NONE || rule.limits[0].algorithm == RL_COUNTER)
		return NULL;
	root = need(json_object());
	limits = need(json_array());
	json_put(root, "define", json_text(rule.name));
	json_put(root, "source", json_text(source_name(rule.source)));
	for (unsigned i = 0; i < rule.limit_count; i++)
		json_push(limits, json_limit(&rule.limits[i]));
	json_put(root, "limits", limits);
	return root;
}

static json_t *
json_moments(const struct rl_entry *entry)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < entry->charge_entries; i++) {
		json_t *pair = need(json_array());

		json_push(pair, json_count(entry->charge_entry[i].at_ns));
		json_push(pair, json_count(entry->charge_entry[i].cost));
		json_push(array, pair);
	}
	return array;
}

static json_t *
dump_counter(struct rl *rl, const struct rl_entry *entry, const char *space,
             const struct key_view *key)
{
	json_t *root = need(json_object());
	uint64_t after_ns = entry->count->expires_after_ns;

	json_put(root, "counters", json_text(space));
	json_put_key(root, key);
	json_put(root, "value", json_count(entry->count->value));
	json_put(root, "expires_ns",
	         after_ns == RL_NEVER_NS ? json_null() : json_count(rl_now(rl) + after_ns));
	return root;
}

json_t *
dump_entry(struct rl *rl, const struct rl_entry *entry, const struct key_view *key)
{
	struct rl_rule_info rule;
	json_t *root;

	if (!rule_read(rl, entry->rule, &rule) || entry->limit >= rule.limit_count)
		return NULL;
	if (entry->count)
		return dump_counter(rl, entry, rule.name, key);
	root = need(json_object());
	json_put(root, "rule", json_text(rule.name));
	json_put(root, "limit_number", json_count(entry->limit + UINT64_C(1)));
	json_put(root, "shape", json_limit(&rule.limits[entry->limit]));
	json_put_key(root, key);
	json_put(root, "tier", json_tier(entry->tier));
	json_put(root, "moments", json_moments(entry));
	return root;
}

json_t *
dump_end(const struct dump_totals *totals)
{
	json_t *root = need(json_object());

	json_put(root, "rl_dump_end", json_true());
	json_put(root, "entries", json_count(totals->entries));
	json_put(root, "unnamed", json_count(totals->unnamed));
	json_put(root, "bans", json_count(totals->bans));
	json_put(root, "cells", json_count(totals->cells));
	return root;
}

/* A word that a host's limit does not have, and a flag, may be left out; null is without an end. */
static bool
read_field(const json_t *object, const struct rl_field *field, struct rl_limit *limit)
{
	const json_t *value = json_object_get(object, field->name);
	const char *word = json_string_value(value);
	uint64_t number = 0;

	if (field->kind == RL_FIELD_FLAG)
		number = json_is_true(value);
	else if (field->kind == RL_FIELD_WORD && word)
		return rl_field_number(field, word, strlen(word), &number) == 0 &&
		       rl_field_set(field, limit, number) == 0;
	else if (field->kind == RL_FIELD_WORD)
		return field->offset != offsetof(struct rl_limit, algorithm);
	else if (field->kind == RL_FIELD_DURATION && value && json_is_null(value))
		number = RL_NEVER_NS;
	else if (!json_read_count(
			 object, field->name,
			 field->most + (field->kind == RL_FIELD_DURATION ? RL_GRANULARITY_MAX : 0),
			 &number))
		return false;
	return rl_field_set(field, limit, number) == 0;
}

/* The shape and the capacity, which are enough to find the limit again; or all of it. */
static bool
read_limit(const json_t *object, struct rl_limit *limit, bool is_whole)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++) {
		bool is_shape = field->marks & RL_FIELD_SHAPE ||
		                field->offset == offsetof(struct rl_limit, capacity);

		if (field->marks & RL_FIELD_CLUSTER ? limit->scope != RL_SCOPE_CLUSTER
		                                    : !is_whole && !is_shape)
			continue;
		if (!read_field(object, field, limit))
			return false;
	}
	return true;
}

static bool
read_moment(const json_t *pair, struct rl_charge_entry *moment)
{
	const json_t *at = json_array_get(pair, 0), *cost = json_array_get(pair, 1);

	if (json_array_size(pair) != 2 || !json_is_integer(at) || !json_is_integer(cost) ||
	    json_integer_value(at) < 0 || json_integer_value(cost) < 1)
		return false;
	moment->at_ns = (uint64_t)json_integer_value(at);
	moment->cost = (uint64_t)json_integer_value(cost);
	return true;
}

static bool
read_moments(const json_t *array, struct dump_line *line)
{
	size_t count = json_array_size(array);

	if (!json_is_array(array))
		return false;
	line->moments = need(calloc(count + 1, sizeof(*line->moments)));
	for (size_t i = 0; i < count; i++)
		if (!read_moment(json_array_get(array, i), &line->moments[line->moment_count++]))
			return false;
	return true;
}

static int
hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool
read_hex(const char *text, size_t len, struct key_view *key)
{
	unsigned char *bytes = need(malloc(len / 2 + 1));

	*key = (struct key_view){.bytes = bytes, .kept = len / 2, .len = len / 2};
	for (size_t i = 0; i + 1 < len; i += 2) {
		int high = hex_value(text[i]), low = hex_value(text[i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i / 2] = (unsigned char)(high << 4 | low);
	}
	return len % 2 == 0;
}

/* "key_hex" is exact where "key" is escaped; with "key_id" alone the key is lost. */
static bool
read_key(const json_t *root, struct key_view *key)
{
	const json_t *hex = json_object_get(root, "key_hex"), *text = json_object_get(root, "key");
	bool is_read = true;

	if (json_is_string(hex))
		is_read = read_hex(json_string_value(hex), json_string_length(hex), key);
	else if (json_is_string(text))
		*key = (struct key_view){
			.bytes = memcpy(need(malloc(json_string_length(text) + 1)),
		                        json_string_value(text), json_string_length(text)),
			.kept = json_string_length(text),
			.len = json_string_length(text),
		};
	else
		return json_is_null(text) && json_object_get(root, "key_id");
	if (json_object_get(root, "truncated"))
		key->len++;
	return is_read && key->kept > 0 && key->kept <= RL_KEY_MAX;
}

static const char *
parse_entry(struct dump_line *line)
{
	const json_t *root = line->root;

	line->kind = DUMP_ENTRY;
	if (!line->rule)
		return "no rule";
	if (!json_read_count32(root, "limit_number", RL_LIMITS_MAX, &line->limit_number) ||
	    line->limit_number == 0)
		return "no limit_number";
	if (!read_limit(json_object_get(root, "shape"), &line->shape, false))
		return "no shape of a limit";
	if (!read_key(root, &line->key))
		return "no key";
	return read_moments(json_object_get(root, "moments"), line) ? NULL
	                                                            : "no moments of [at_ns, cost]";
}

static const char *
parse_rule(struct dump_line *line)
{
	const json_t *array = json_object_get(line->root, "limits");
	const char *source = json_string_value(json_object_get(line->root, "source"));

	line->kind = DUMP_RULE;
	line->rule = json_string_value(json_object_get(line->root, "define"));
	line->limit_count = json_array_size(array);
	if (!line->rule || !source)
		return "no name or source of a rule";
	line->is_configured = strcmp(source, source_name(RL_SOURCE_CONFIGURATION)) == 0;
	if (line->limit_count < 1 || line->limit_count > RL_LIMITS_MAX)
		return "no limits of a rule";
	for (size_t i = 0; i < line->limit_count; i++)
		if (!read_limit(json_array_get(array, i), &line->limits[i], true))
			return "no limit";
	return NULL;
}

static const char *
parse_counter(struct dump_line *line)
{
	const json_t *root = line->root, *expires = json_object_get(root, "expires_ns");

	line->kind = DUMP_COUNTER;
	line->rule = json_string_value(json_object_get(root, "counters"));
	line->expires_ns = RL_NEVER_NS;
	if (!line->rule)
		return "no name of counters";
	if (!read_key(root, &line->key))
		return "no key";
	if (!json_read_count(root, "value", RL_COUNT_MAX, &line->value))
		return "no value of a counter";
	if (!json_is_null(expires) &&
	    !json_read_count(root, "expires_ns", INT64_MAX, &line->expires_ns))
		return "no expires_ns";
	return NULL;
}

static bool
read_match(const char *name, enum rl_match *match)
{
	static const enum rl_match all[] = {RL_MATCH_KEY, RL_MATCH_PREFIX, RL_MATCH_NETWORK};

	for (size_t i = 0; name && i < sizeof(all) / sizeof(all[0]); i++) {
		*match = all[i];
		if (strcmp(match_name(all[i]), name) == 0)
			return true;
	}
	return false;
}

/* A field that an older dump lacks, or that is null, is unknown. */
static void
read_note(struct dump_line *line)
{
	const json_t *root = line->root;

	line->reason = json_string_value(json_object_get(root, "reason"));
	if (!json_read_count32(root, "author", UINT32_MAX, &line->author))
		line->author = 0;
	if (!json_read_count(root, "since_ns", INT64_MAX, &line->since_ns))
		line->since_ns = 0;
	if (!json_read_count(root, "hits", INT64_MAX, &line->hits))
		line->hits = 0;
}

static const char *
parse_override(struct dump_line *line)
{
	const json_t *root = line->root;

	if (!line->rule)
		return "no rule";
	if (!json_read_count32(root, "limit_number", RL_LIMITS_MAX, &line->limit_number) ||
	    line->limit_number == 0)
		return "no limit_number";
	if (!json_read_count32(root, "capacity", RL_CAPACITY_MAX, &line->capacity) ||
	    line->capacity == 0)
		return "no capacity";
	if (!read_key(root, &line->key))
		return "no key";
	read_note(line);
	return json_read_count(root, "until_ns", INT64_MAX, &line->until_ns) ? NULL : "no until_ns";
}

static const char *
parse_ban(struct dump_line *line)
{
	const json_t *root = line->root;
	const char *effect = json_string_value(json_object_get(root, "effect"));

	line->kind = DUMP_BAN;
	if (effect && strcmp(effect, "override") == 0)
		return parse_override(line);
	line->is_exemption = effect && strcmp(effect, "exemption") == 0;
	if (!line->is_exemption && !(effect && strcmp(effect, "ban") == 0))
		return "an effect that is neither ban, exemption nor override";
	line->is_automatic = json_is_true(json_object_get(root, "automatic"));
	if (!read_match(json_string_value(json_object_get(root, "match")), &line->match))
		return "no match";
	if (!read_key(root, &line->key))
		return "no key";
	read_note(line);
	line->until_ns = RL_NEVER_NS;
	if (json_is_null(json_object_get(root, "until_ns")) ||
	    json_read_count(root, "until_ns", INT64_MAX, &line->until_ns))
		return NULL;
	return "no until_ns";
}

static const char *
parse_header(struct dump_line *line)
{
	const json_t *version = json_object_get(line->root, "rl_dump");

	line->kind = DUMP_HEADER;
	if (json_integer_value(version) != DUMP_VERSION)
		return "a version of the format that this rlctl does not know";
	return dump_size_read(line->root, &line->size) ? NULL : "a size that no segment has";
}

static const char *
parse_end(struct dump_line *line)
{
	const json_t *root = line->root;

	line->kind = DUMP_END;
	if (json_read_count(root, "entries", INT64_MAX, &line->totals.entries) &&
	    json_read_count(root, "unnamed", INT64_MAX, &line->totals.unnamed) &&
	    json_read_count(root, "bans", INT64_MAX, &line->totals.bans) &&
	    (!json_object_get(root, "cells") ||
	     json_read_count(root, "cells", INT64_MAX, &line->totals.cells)))
		return NULL;
	return "no totals";
}

const char *
dump_parse(const char *text, size_t len, struct dump_line *line)
{
	json_error_t error;

	memset(line, 0, sizeof(*line));
	line->root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!json_is_object(line->root))
		return "no JSON object";
	line->rule = json_string_value(json_object_get(line->root, "rule"));
	if (json_object_get(line->root, "rl_dump"))
		return parse_header(line);
	if (json_object_get(line->root, "rl_dump_end"))
		return parse_end(line);
	if (json_object_get(line->root, "define"))
		return parse_rule(line);
	if (json_object_get(line->root, "counters"))
		return parse_counter(line);
	return json_object_get(line->root, "effect") ? parse_ban(line) : parse_entry(line);
}

void
dump_line_free(struct dump_line *line)
{
	free((void *)line->key.bytes);
	free(line->moments);
	json_decref(line->root);
}
