/* SPDX-License-Identifier: BSD-2-Clause */

#include <grp.h>
#include <inttypes.h>
#include <rl_fields.h>
#include <stdio.h>
#include <string.h>

#include "model/geometry.h"
#include "model/limit.h"
#include "read/source.h"

#define INTERVAL_MAX (86400 * RL_SECOND)

static void
read_name(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *name = json_string_value(node.json);
	size_t len = name ? strlen(name) : 0;

	if (len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len) {
		read_text(reader, field, node, values);
		return;
	}
	report_value(reader->report, CONFIG_ERROR, node.token,
	             "expected a name of 1 to 63 letters, digits and . _ -, got %s",
	             report_got(reader->report, node.token).text);
}

/* Octal in a string, for a number 660 would mean something else to everybody. */
static void
read_mode(struct reader *reader, const struct field *field, struct node node, struct value *values)
{
	const char *text = json_string_value(node.json);
	struct value value = {.token = node.token};
	char rest;
	unsigned mode;

	if (text && strspn(text, "01234567") == strlen(text) && strlen(text) <= 4 &&
	    sscanf(text, "%o%c", &mode, &rest) == 1 && mode <= 0777 && (mode & 0600) == 0600) {
		value.number = mode;
		value_set(reader, values, field->id, value);
		return;
	}
	report_value(reader->report, CONFIG_ERROR, node.token,
	             "expected permission bits such as \"0660\", with 6 for the owner, got %s",
	             report_got(reader->report, node.token).text);
}

/* A word of before is taken for the usual one until the next release. */
static void
read_listed_word(struct reader *reader, const struct rl_field *listed, const struct field *field,
                 struct node node, struct value *values)
{
	struct field with_words = *field;
	const char *word = json_string_value(node.json);
	struct value value = {.token = node.token};

	with_words.words = listed->words;
	if (!word || rl_field_number(listed, word, strlen(word), &value.number) != 1) {
		read_word(reader, &with_words, node, values);
		return;
	}
	value_set(reader, values, field->id, value);
	report_value(reader->report, CONFIG_WARNING, node.token,
	             "\"%s\" is gone, taken as \"%s\", and refused by the next release", word,
	             listed->words[value.number]);
}

static void
read_number(struct reader *reader, const struct rl_field *listed, const struct field *field,
            struct node node, struct value *values)
{
	uint64_t number;

	read_count(reader, field, node, values);
	number = values[field->id].number;
	if (listed->marks & RL_FIELD_POWER && !values[field->id].is_bad &&
	    (number & (number - 1)) != 0)
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "expected a power of two, got %s",
		             report_got(reader->report, node.token).text);
}

/* By what the list says of it. */
static void
read_listed(struct reader *reader, const struct field *field, struct node node,
            struct value *values)
{
	const struct rl_field *listed = rl_field(RL_OF_OPTIONS, (size_t)field->id);

	if (field->id == SEGMENT_mode)
		read_mode(reader, field, node, values);
	else if (field->id == SEGMENT_group)
		read_text(reader, field, node, values);
	else if (listed->words)
		read_listed_word(reader, listed, field, node, values);
	else if (listed->kind == RL_FIELD_DURATION)
		read_duration(reader, field, node, values);
	else
		read_number(reader, listed, field, node, values);
}

/* Of "segment"; how long a counter outlives its window is said where sweeps are. */
static const struct field segment_fields[] = {
	{"name", read_name, SEGMENT_NAME, 0, 0, NULL},
	{"keys_most", read_count, SEGMENT_KEYS_MOST, 1, RL_KEYS_MAX, NULL},
	{"huge_pages", read_flag, SEGMENT_HUGE_PAGES, 0, 0, NULL},
#define RL_OPTION_FIELD(name, word, kind, least, most, unit, usual, none, words, marks, ...) \
	{(marks)&RL_FIELD_NOT_IN_FILES || SEGMENT_##name == SEGMENT_buffer_ns ? "" : (word), \
	 read_listed,                                                                        \
	 SEGMENT_##name,                                                                     \
	 (none) > 0 ? 0 : (least),                                                           \
	 most,                                                                               \
	 NULL},
#include <rl_option_fields.def>
#undef RL_OPTION_FIELD
	{0},
};

/* Of "gc", beside that option. */
enum gc_id {
	GC_INTERVAL = SEGMENT_OPTIONS,
	GC_IDS
};

static const struct field gc_fields[] = {
	{"interval", read_duration, GC_INTERVAL, 100 * RL_MILLISECOND, INTERVAL_MAX, NULL},
	{"buffer", read_listed, SEGMENT_buffer_ns, RL_MILLISECOND, RL_BUFFER_MAX, NULL},
	{0},
};

/* Fields of the reserve have no use without it. */
static void
check_reserve(struct reader *reader, const struct value *v, const struct rl_options *o)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (field->marks & RL_FIELD_RESERVE && v[i].token && !v[SEGMENT_on_full].is_bad &&
		    o->on_full != RL_FULL_RESERVE)
			report_value(reader->report, CONFIG_ERROR, v[i].token,
			             "only with \"on_full\": \"reserve\", which is the default");
}

static void
find_group(struct reader *reader, const struct value *value, struct config *config)
{
	const char *name = json_string_value(value->json);
	const struct group *group = name ? getgrnam(name) : NULL;

	if (!name)
		return;
	if (!group) {
		report_value(reader->report, CONFIG_ERROR, value->token,
		             "there is no such group on this host");
		return;
	}
	config->group = strdup(name);
	if (!config->group)
		report_memory(reader->report);
	config->options.group = group->gr_gid;
	config->options.flags |= RL_OPEN_GROUP;
}

/* Between "keys" and this rld chooses. */
static void
read_most(struct reader *reader, const struct value *v, struct config *config)
{
	uint32_t keys = config->options.keys > 0 ? config->options.keys : RL_KEYS_DEFAULT;
	const struct value *most = &v[SEGMENT_KEYS_MOST];

	config->keys_most = (uint32_t)most->number;
	if (most->token && !most->is_bad && config->keys_most < keys)
		report_value(reader->report, CONFIG_ERROR, most->token,
		             "expected no less than \"keys\", %" PRIu32 ", got %s", keys,
		             report_got(reader->report, most->token).text);
}

/* What the file says. 0 is said where none are wanted. */
static void
set_options(struct rl_options *o, const struct value *v)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (v[i].token && !v[i].is_bad)
			rl_field_set(field, o, v[i].number > 0 ? v[i].number : field->none);
}

void
read_segment(struct reader *reader, struct node object, struct config *config)
{
	static const struct field *const tables[] = {segment_fields, NULL};
	struct value v[SEGMENT_IDS] = {0};
	struct rl_options *o = &config->options;

	read_fields(reader, object, tables, v);
	for (int i = 0; i < SEGMENT_IDS; i++)
		config->source->segment[i] = v[i].token;
	if (v[SEGMENT_NAME].token)
		snprintf(config->name, sizeof(config->name), "%s",
		         json_string_value(v[SEGMENT_NAME].json));
	set_options(o, v);
	read_most(reader, v, config);
	check_reserve(reader, v, o);
	o->flags |= v[SEGMENT_HUGE_PAGES].number ? RL_OPEN_HUGE_PAGES : 0U;
	find_group(reader, &v[SEGMENT_group], config);
	if (o->mode & 0002)
		report_value(reader->report, CONFIG_WARNING, v[SEGMENT_mode].token,
		             "lets everybody on the host falsify counts");
}

void
read_gc(struct reader *reader, struct node object, struct config *config)
{
	static const struct field *const tables[] = {gc_fields, NULL};
	struct value v[GC_IDS] = {0};

	read_fields(reader, object, tables, v);
	if (v[GC_INTERVAL].token && !v[GC_INTERVAL].is_bad)
		config->gc_interval_ns = v[GC_INTERVAL].number;
	set_options(&config->options, v);
	config->source->segment[SEGMENT_buffer_ns] = v[SEGMENT_buffer_ns].token;
}

/* The sizes that the rules need. */
struct needs {
	uint64_t limits;
	uint64_t overrides;
	uint32_t ring;
	const char *longest; /* the rule that needs that */
	bool fits;           /* the ring that the file has is enough */
};

static void
need_ring(struct needs *needs, const struct rl_rule *rule, size_t i, uint32_t capacity,
          uint32_t ring)
{
	const struct rl_limit *limit = config_limit(rule, i);
	uint32_t entries = limit_entries_for(limit, capacity);

	needs->fits = needs->fits && (ring == 0 || limit_fits(limit, capacity, ring));
	if (entries <= needs->ring)
		return;
	needs->ring = entries;
	needs->longest = rule->name;
}

/* Each capacity that it gives takes a place. */
static void
need_override(struct needs *needs, const struct rl_override *override, const struct rl_rule *rule,
              uint32_t ring)
{
	if (override->kind != RL_OVERRIDE_CAPACITY)
		needs->overrides++;
	for (size_t i = 0; i < config_limit_count(rule); i++) {
		needs->overrides += override->capacity[i] > 0;
		need_ring(needs, rule, i, override->capacity[i], ring);
	}
}

static struct needs
needs_of(const struct config *config)
{
	struct needs needs = {.fits = true};
	uint32_t ring = config->options.ring;

	for (size_t i = 0; i < config->rule_count; i++) {
		const struct rl_config_rule *rule = &config->rules[i];

		for (size_t j = 0; j < config_limit_count(&rule->rule); j++, needs.limits++)
			need_ring(&needs, &rule->rule, j, config_limit(&rule->rule, j)->capacity,
			          ring);
		for (size_t j = 0; j < rule->override_count; j++)
			need_override(&needs, &rule->overrides[j], &rule->rule, ring);
	}
	return needs;
}

/* `wish` is what the file says, or 0, and then at least `needed` unless the default is enough. */
static void
fit(struct reader *reader, uint32_t token, uint32_t *wish, uint64_t needed, uint32_t usual,
    const char *what)
{
	if (token && *wish > 0 && *wish < needed)
		report_value(reader->report, CONFIG_ERROR, token,
		             "the rules need %" PRIu64 " (%s); say so, or leave it out", needed,
		             what);
	else if (!token && needed > usual)
		*wish = (uint32_t)needed;
}

/* As long as the rules need it. One that the file has stays as it is, if they can be with it. */
static void
fit_ring(struct reader *reader, uint32_t token, uint32_t *ring, const struct needs *needs)
{
	if (token && *ring > 0 && !needs->fits)
		report_value(reader->report, CONFIG_ERROR, token,
		             "the rules need %" PRIu32
		             ", \"%s\" the most (one for each sub-bucket, two for each request of "
		             "a sliding_log); say so, or leave it out",
		             needs->ring, needs->longest);
	else if (!token && needs->ring > RL_RING_DEFAULT)
		*ring = needs->ring;
}

void
segment_fit(struct reader *reader, struct config *config)
{
	const uint32_t *given = config->source->segment;
	struct needs needs = needs_of(config);
	if (config->rule_count > RL_RULES_MAX || needs.limits > RL_RULES_MAX) {
		report_value(reader->report, CONFIG_ERROR, 0,
		             "%zu rules with %" PRIu64
		             " limits; a segment holds at most %d of each",
		             config->rule_count, needs.limits, RL_RULES_MAX);
		return;
	}
	if (needs.overrides > RL_OVERRIDES_MAX)
		report_value(reader->report, CONFIG_ERROR, 0,
		             "%" PRIu64 " overrides; a segment holds at most %" PRIu32,
		             needs.overrides, RL_OVERRIDES_MAX);
	fit(reader, given[SEGMENT_rules], &config->options.rules, config->rule_count,
	    RL_RULES_DEFAULT, "one for each rule");
	fit(reader, given[SEGMENT_overrides], &config->options.overrides, needs.overrides,
	    RL_OVERRIDES_DEFAULT, "one for each override, and each capacity in it");
	fit_ring(reader, given[SEGMENT_ring], &config->options.ring, &needs);
}
