/* SPDX-License-Identifier: BSD-2-Clause */

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limit.h"
#include "model/overrides.h"
#include "model/pattern_text.h"
#include "read/source.h"
#include "text/names.h"

struct override_walk {
	struct override_list *list;
	const struct rl_limit *limits; /* RL_LIMITS_MAX of them, */
	size_t limit_count;            /* of which so many are known; 0: they are wrong */
};

static void
refuse_window(struct reader *reader, const struct field *field, struct node node,
              struct value *values)
{
	(void)field;
	(void)values;
	report_name(reader->report, CONFIG_ERROR, node.token,
	            "an override changes no window; a key with another window needs another rule");
}

const struct field verdict_fields[] = {
	{"banned", read_flag, OVERRIDE_BANNED, 0, 0, NULL},
	{"unlimited", read_flag, OVERRIDE_UNLIMITED, 0, 0, NULL},
	{"exact", read_flag, OVERRIDE_EXACT, 0, 0, NULL},
	{0},
};

static const struct field override_fields[] = {
	{"capacity", read_any, OVERRIDE_CAPACITY, 1, RL_CAPACITY_MAX, NULL},
	{"time_window_sec", refuse_window, 0, 0, 0, NULL},
	{"window", refuse_window, 0, 0, 0, NULL},
	{"limit", refuse_window, 0, 0, 0, NULL},
	{0},
};

bool
override_room(struct reader *reader, struct override_list *list, struct node map)
{
	list->room = json_object_size(map.json);
	list->at = calloc(list->room + 1, sizeof(*list->at));
	list->tokens = calloc(list->room + 1, sizeof(*list->tokens));
	if (list->at && list->tokens)
		return true;
	list->room = 0;
	report_memory(reader->report);
	return false;
}

/* A name that stays: where it stands in the text, or a copy if it has escapes there. */
static const char *
keep_name(struct config_source *source, const char *name, size_t len, uint32_t token)
{
	const char *text = source->text + source->tokens.at[token].key + 1;
	char **more, *copy;

	if (!memchr(text, '\\', len) && memcmp(text, name, len) == 0)
		return text;
	if (source->key_count == source->key_room) {
		size_t room = source->key_room ? source->key_room * 2 : 16;

		more = reallocarray(source->keys, room, sizeof(*more));
		if (!more)
			return NULL;
		source->keys = more;
		source->key_room = room;
	}
	copy = strndup(name, len);
	if (copy)
		source->keys[source->key_count++] = copy;
	return copy;
}

static bool
is_address(const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* Read the name's meaning; false after a report. */
static bool
read_pattern(struct reader *reader, const char *name, uint32_t token, bool is_exact,
             struct pattern_text *out)
{
	const char *wrong = is_exact ? pattern_exact(name, strlen(name), out)
	                             : pattern_parse(name, strlen(name), out);

	if (!wrong)
		return true;
	report_name(reader->report, CONFIG_ERROR, token, "%s%s", wrong,
	            is_exact || name[0] == '\0' ? ""
	                                        : "; a key of this very name has \"exact\": true");
	return false;
}

bool
override_add(struct reader *reader, struct override_list *list, const char *name, uint32_t token,
             bool is_exact, struct rl_override *override)
{
	struct pattern_text read;
	const char *kept;

	if (list->count == list->room || !read_pattern(reader, name, token, is_exact, &read))
		return false;
	kept = keep_name(reader->source, read.pattern.key, read.pattern.key_len, token);
	if (!kept) {
		report_memory(reader->report);
		return false;
	}
	override->pattern = read.pattern;
	override->pattern.key = kept;
	list->tokens[list->count] = token;
	list->at[list->count++] = *override;
	return true;
}

static bool
is_set(const struct value *value)
{
	return value->token > 0 && !value->is_bad && value->number != 0;
}

bool
override_is_exact(const struct value *values)
{
	return is_set(&values[OVERRIDE_EXACT]);
}

enum rl_override_kind
override_kind(struct reader *reader, uint32_t token, const struct value *values)
{
	if (is_set(&values[OVERRIDE_BANNED]) && is_set(&values[OVERRIDE_UNLIMITED]))
		report_name(reader->report, CONFIG_ERROR, token,
		            "cannot be both banned and unlimited");
	if (is_set(&values[OVERRIDE_BANNED]))
		return RL_OVERRIDE_BANNED;
	return is_set(&values[OVERRIDE_UNLIMITED]) ? RL_OVERRIDE_UNLIMITED : RL_OVERRIDE_CAPACITY;
}

/* One number of "capacity". */
static bool
read_capacity(struct reader *reader, struct node node, const struct rl_limit *limit,
              uint32_t *capacity)
{
	static const struct field field = {"capacity", read_count, 0, 1, RL_CAPACITY_MAX, NULL};
	const struct rl_algorithm_info *info = algorithm_info(limit->algorithm);
	struct value value = {0};

	read_count(reader, &field, node, &value);
	if (value.is_bad)
		return false;
	*capacity = (uint32_t)value.number;
	if (*capacity <= info->capacity_max)
		return true;
	report_value(reader->report, CONFIG_ERROR, node.token,
	             info->flags & RL_IS_HELD ? "an %s limit admits at most %" PRIu32
	                                      : "a %s remembers each request, at most %" PRIu32
	                                        " of them",
	             info->name, info->capacity_max);
	return false;
}

struct capacity_walk {
	const struct override_walk *rule;
	struct rl_override *override;
};

static void
visit_capacity(struct reader *reader, size_t index, struct node node, void *arg)
{
	struct capacity_walk *walk = arg;

	size_t count = walk->rule->limit_count ? walk->rule->limit_count : RL_LIMITS_MAX;

	if (index < count && !json_is_null(node.json))
		read_capacity(reader, node, &walk->rule->limits[index],
		              &walk->override->capacity[index]);
}

static void
read_capacities(struct reader *reader, struct node node, const struct override_walk *rule,
                struct rl_override *override)
{
	struct capacity_walk walk = {rule, override};

	if (rule->limit_count <= 1 && !json_is_array(node.json)) {
		read_capacity(reader, node, rule->limits, &override->capacity[0]);
		return;
	}
	if (!json_is_array(node.json)) {
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "the rule has %zu limits: say a capacity for each, as [5, null], null "
		             "leaving one as it is",
		             rule->limit_count);
		return;
	}
	if (rule->limit_count > 0 && json_array_size(node.json) > rule->limit_count)
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "%zu capacities, but the rule has %zu", json_array_size(node.json),
		             rule->limit_count);
	each_element(reader, node, visit_capacity, &walk);
}

/* Would the rule decide the same without it? A burst may change along. */
static bool
changes_nothing(const struct rl_override *override, const struct override_walk *rule)
{
	for (size_t i = 0; i < rule->limit_count; i++)
		if (override->capacity[i] > 0 &&
		    (override->capacity[i] != rule->limits[i].capacity ||
		     algorithm_info(rule->limits[i].algorithm)->flags & RL_BURST_IS_CAPACITY))
			return false;
	return rule->limit_count > 0;
}

static bool
has_capacity(const struct rl_override *override)
{
	for (size_t i = 0; i < RL_LIMITS_MAX; i++)
		if (override->capacity[i] > 0)
			return true;
	return false;
}

/* A rule of networks asks only for addresses. */
static bool
is_never_asked(const char *name, const struct rl_override *override,
               const struct override_walk *rule)
{
	return rule->limit_count > 0 && (rule->limits[0].prefix_v4 || rule->limits[0].prefix_v6) &&
	       override->pattern.match == RL_MATCH_KEY && !is_address(name);
}

static void
warn_unused(struct reader *reader, const char *name, uint32_t token,
            const struct override_walk *rule, const struct rl_override *override)
{
	if (is_never_asked(name, override, rule))
		report_name(reader->report, CONFIG_WARNING, token,
		            "is never used: the rule counts IP addresses, and this is none");
	else if (override->kind == RL_OVERRIDE_CAPACITY && changes_nothing(override, rule))
		report_name(reader->report, CONFIG_WARNING, token,
		            "changes nothing: the rule itself has the same capacity");
}

/* The capacity, if there is to be one. */
static void
finish_override(struct reader *reader, uint32_t token, const struct value *values,
                const struct override_walk *rule, struct rl_override *override)
{
	const struct value *capacity = &values[OVERRIDE_CAPACITY];
	bool is_verdict = override->kind != RL_OVERRIDE_CAPACITY;
	size_t errors = reader->report->errors;

	if (is_verdict && capacity->token > 0)
		report_name(reader->report, CONFIG_ERROR, capacity->token,
		            "means nothing for a key that is %s",
		            override->kind == RL_OVERRIDE_BANNED ? "banned" : "unlimited");
	if (is_verdict)
		return;
	if (capacity->token > 0)
		read_capacities(reader, (struct node){capacity->json, capacity->token}, rule,
		                override);
	if (reader->report->errors == errors && !has_capacity(override))
		report_name(reader->report, CONFIG_ERROR, token,
		            "says nothing: give it a capacity, or banned, or unlimited");
}

static void
visit_override(struct reader *reader, const char *name, struct node node, void *arg)
{
	static const struct field *const tables[] = {override_fields, verdict_fields, NULL};
	const struct override_walk *walk = arg;
	struct value values[OVERRIDE_IDS] = {0};
	struct rl_override override = {0};
	size_t errors = reader->report->errors;

	read_fields(reader, node, tables, values);
	override.kind = override_kind(reader, node.token, values);
	if (reader->report->errors == errors)
		finish_override(reader, node.token, values, walk, &override);
	if (override_add(reader, walk->list, name, node.token, override_is_exact(values),
	                 &override) &&
	    reader->report->errors == errors)
		warn_unused(reader, name, node.token, walk, &override);
}

void
read_overrides(struct reader *reader, struct node map, const struct rl_limit *limits,
               size_t limit_count, struct override_list *list)
{
	struct override_walk walk = {list, limits, limit_count};

	if (override_room(reader, list, map))
		each_member(reader, map, visit_override, &walk);
}
