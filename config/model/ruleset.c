/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/auto_ban.h"
#include "model/limit.h"
#include "model/ruleset.h"
#include "read/source.h"
#include "text/duration.h"
#include "text/names.h"

enum rule_id {
	RULE_LIMITS = LIMIT_IDS,
	RULE_PREFIXES,
	RULE_OVERRIDES,
	RULE_BAN,
	RULE_IDS
};

static const struct field rule_fields[] = {
	{"limits", read_any, RULE_LIMITS, 0, 0, NULL},
	{"prefixes", read_any, RULE_PREFIXES, 0, 0, NULL},
	{"overrides", read_any, RULE_OVERRIDES, 0, 0, NULL},
	{"ban", read_any, RULE_BAN, 0, 0, NULL},
	{0},
};

/* The limits of a rule that is being read, and where each stands. */
struct limits {
	const struct value *base; /* what the rule says for all of them */
	bool has_prefixes;
	bool is_bad;
	size_t count;
	struct rl_limit at[RL_LIMITS_MAX];
	uint32_t tokens[RL_LIMITS_MAX];
};

bool
rules_room(struct reader *reader, struct config *config, size_t count)
{
	config->rules = calloc(count + 1, sizeof(*config->rules));
	config->source->rules = calloc(count + 1, sizeof(*config->source->rules));
	config->source->overrides = calloc(count + 1, sizeof(*config->source->overrides));
	if (config->rules && config->source->rules && config->source->overrides)
		return true;
	report_memory(reader->report);
	return false;
}

struct rl_config_rule *
rules_add(struct reader *reader, struct config *config, const char *name, uint32_t token)
{
	struct rl_config_rule *rule = &config->rules[config->rule_count];

	rule->rule.name = strdup(name);
	if (!rule->rule.name) {
		report_memory(reader->report);
		return NULL;
	}
	config->source->rules[config->rule_count++] = token;
	return rule;
}

void
rules_finish(struct reader *reader, struct config *config, struct rl_config_rule *rule,
             const struct rl_limit *limits, size_t count, struct override_list *list)
{
	struct rl_limit *more = NULL;

	rule->overrides = list->at;
	rule->override_count = list->count;
	config->source->overrides[rule - config->rules] = list->tokens;
	if (count == 0)
		return;
	rule->rule.limit = limits[0];
	if (count == 1)
		return;
	more = calloc(count - 1, sizeof(*more));
	if (!more) {
		report_memory(reader->report);
		return;
	}
	memcpy(more, limits + 1, (count - 1) * sizeof(*more));
	rule->rule.more = more;
	rule->rule.more_count = count - 1;
}

static void
add_limit(struct reader *reader, struct limits *limits, uint32_t token, const struct value *values)
{
	if (limits->count == RL_LIMITS_MAX) {
		report_value(reader->report, CONFIG_ERROR, token, "a rule has at most %d limits",
		             RL_LIMITS_MAX);
		limits->is_bad = true;
	} else if (limit_finish(reader, token, values, &limits->at[limits->count])) {
		limits->tokens[limits->count++] = token;
	} else {
		limits->is_bad = true;
	}
}

static void
visit_limit(struct reader *reader, size_t index, struct node node, void *arg)
{
	static const struct field *const plain[] = {shape_fields, limit_fields, NULL};
	static const struct field *const with_prefix[] = {shape_fields, limit_fields, prefix_fields,
	                                                  NULL};
	struct limits *limits = arg;
	struct value values[LIMIT_IDS] = {0};
	size_t errors = reader->report->errors;

	(void)index;
	read_fields(reader, node, limits->has_prefixes ? with_prefix : plain, values);
	limit_inherit(values, limits->base);
	if (limits->has_prefixes && !values[LIMIT_prefix_v4].token &&
	    !values[LIMIT_prefix_v6].token)
		report_value(reader->report, CONFIG_ERROR, node.token,
		             "says no prefix length: \"v4\": 32, \"v6\": 64, or both");
	if (reader->report->errors == errors)
		add_limit(reader, limits, node.token, values);
	else
		limits->is_bad = true;
}

static void
read_limits(struct reader *reader, uint32_t owner, const struct value *values,
            struct limits *limits)
{
	const struct value *list = &values[RULE_LIMITS], *prefixes = &values[RULE_PREFIXES];

	limits->base = values;
	if (list->token && prefixes->token)
		report_name(reader->report, CONFIG_ERROR, list->token,
		            "a rule has limits or prefixes, not both; an element of prefixes can "
		            "have a window of its own");
	if (!list->token && !prefixes->token) {
		add_limit(reader, limits, owner, values);
		return;
	}
	limits->has_prefixes = prefixes->token > 0;
	list = prefixes->token ? prefixes : list;
	each_element(reader, (struct node){list->json, list->token}, visit_limit, limits);
	if (json_is_array(list->json) && json_array_size(list->json) == 0)
		report_name(reader->report, CONFIG_ERROR, list->token, "is empty");
}

/* No window as long as a's holds more than b admits in the windows that touch it. */
static bool
is_implied(const struct rl_limit *a, const struct rl_limit *b)
{
	uint64_t windows;

	if (b->window_ns == 0) /* in flight: there is none */
		return false;
	windows = (a->window_ns + b->window_ns - 1) / b->window_ns;
	return a->algorithm == b->algorithm && a->counts == b->counts &&
	       b->window_ns <= a->window_ns &&
	       !(algorithm_info(a->algorithm)->flags & RL_IS_BUCKET) && !a->shadow && !b->shadow &&
	       a->prefix_v4 == b->prefix_v4 && a->prefix_v6 == b->prefix_v6 &&
	       windows * b->capacity <= a->capacity;
}

static void
warn_implied(struct reader *reader, const struct limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		for (size_t j = 0; j < limits->count; j++) {
			const struct rl_limit *a = &limits->at[i], *b = &limits->at[j];

			if (i == j || !is_implied(a, b) || (is_implied(b, a) && i < j))
				continue;
			report_value(reader->report, CONFIG_WARNING, limits->tokens[i],
			             "is never reached: limit %zu admits only %" PRIu32 " per %s",
			             j + 1, b->capacity, duration_format(b->window_ns).text);
			break;
		}
}

static void
refuse_prefetch(struct reader *reader, const struct limits *limits)
{
	for (size_t i = 0; i < limits->count && limits->count > 1; i++)
		if (limits->at[i].prefetch > 0)
			report_value(reader->report, CONFIG_ERROR, limits->tokens[i],
			             "has a prefetch of %u, which a rule of several limits cannot "
			             "have",
			             (unsigned)limits->at[i].prefetch);
}

static bool
name_is_valid(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/";
	size_t len = strlen(name);

	return len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len;
}

static void
visit_rule(struct reader *reader, const char *name, struct node node, void *arg)
{
	static const struct field *const tables[] = {shape_fields, limit_fields, rule_fields, NULL};
	struct config *config = arg;
	struct value values[RULE_IDS] = {0};
	struct limits limits = {0};
	struct override_list list = {0};
	struct rl_config_rule *rule = rules_add(reader, config, name, node.token);
	size_t errors = reader->report->errors;

	if (!rule)
		return;
	if (!name_is_valid(name))
		report_name(reader->report, CONFIG_ERROR, node.token,
		            "a rule's name is 1 to 63 letters, digits and . _ - : /");
	read_fields(reader, node, tables, values);
	if (json_is_object(node.json))
		read_limits(reader, node.token, values, &limits);
	if (reader->report->errors == errors) {
		refuse_prefetch(reader, &limits);
		warn_implied(reader, &limits);
	}
	if (values[RULE_OVERRIDES].token)
		read_overrides(
			reader,
			(struct node){values[RULE_OVERRIDES].json, values[RULE_OVERRIDES].token},
			limits.at, limits.is_bad ? 0 : limits.count, &list);
	if (values[RULE_BAN].token)
		read_auto_ban(reader, (struct node){values[RULE_BAN].json, values[RULE_BAN].token},
		              &rule->ban);
	rules_finish(reader, config, rule, limits.at, limits.count, &list);
}

void
read_rules(struct reader *reader, struct node map, struct config *config)
{
	each_member(reader, map, visit_rule, config);
}
