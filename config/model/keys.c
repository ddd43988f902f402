/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>

#include "model/limit.h"
#include "model/ruleset.h"
#include "read/source.h"
#include "text/names.h"

struct keys_walk {
	struct override_list list;
	struct rl_limit limits[RL_LIMITS_MAX]; /* one for each window */
	size_t limit_count;
};

/* The limit that a key of this shape counts under; RL_LIMITS_MAX if there are too many. */
static size_t
find_limit(struct keys_walk *walk, const struct rl_limit *shape)
{
	struct rl_limit *limits = walk->limits;
	size_t i = 0;

	while (i < walk->limit_count && limit_difference(&limits[i], shape, RL_FIELD_SHAPE))
		i++;
	if (i == walk->limit_count && i < RL_LIMITS_MAX) {
		limits[i] = *shape;
		limits[i].capacity = RL_CAPACITY_MAX;
		limits[i].burst = shape->burst > 0 ? RL_CAPACITY_MAX - 1 : 0;
		walk->limit_count++;
	}
	return i;
}

/* A log cannot be as good as unlimited, and how many may wait is no single key's. */
static bool
suits_keys(struct reader *reader, uint32_t token, const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = algorithm_info(limit->algorithm);

	if (info->capacity_max == RL_CAPACITY_MAX && !(info->flags & RL_HAS_UNDELAYED))
		return true;
	report_value(reader->report, CONFIG_ERROR, token,
	             "keys cannot have this algorithm; write a rule with overrides");
	return false;
}

static void
add_capacity(struct reader *reader, uint32_t token, const struct value *values,
             struct keys_walk *walk, struct rl_override *override)
{
	struct rl_limit limit;
	size_t index;

	if (!limit_finish(reader, token, values, &limit) ||
	    !suits_keys(reader, values[LIMIT_algorithm].token, &limit))
		return;
	index = find_limit(walk, &limit);
	if (index == RL_LIMITS_MAX)
		report_value(reader->report, CONFIG_ERROR, token,
		             "keys have at most %d different windows; write rules with overrides",
		             RL_LIMITS_MAX);
	else
		override->capacity[index] = limit.capacity;
}

static bool
has_limit(const struct value *values)
{
	for (int i = 0; i < LIMIT_IDS; i++)
		if (values[i].token)
			return true;
	return false;
}

static void
visit_key(struct reader *reader, const char *name, struct node node, void *arg)
{
	static const struct field *const tables[] = {shape_fields, verdict_fields, NULL};
	struct keys_walk *walk = arg;
	struct value values[OVERRIDE_IDS] = {0};
	struct rl_override override = {0};
	size_t errors = reader->report->errors;

	read_fields(reader, node, tables, values);
	override.kind = override_kind(reader, node.token, values);
	if (override.kind != RL_OVERRIDE_CAPACITY && has_limit(values))
		report_name(reader->report, CONFIG_ERROR, node.token,
		            "a key that is banned or unlimited has no limit");
	if (reader->report->errors == errors && override.kind == RL_OVERRIDE_CAPACITY)
		add_capacity(reader, node.token, values, walk, &override);
	override_add(reader, &walk->list, name, node.token, override_is_exact(values), &override);
}

/* Keys that are only banned or unlimited: the rule has to have some limit. */
static const struct rl_limit any_limit = {
	.capacity = RL_CAPACITY_MAX,
	.window_ns = RL_SECOND,
	.granularity = 1,
};

void
read_keys(struct reader *reader, struct node map, struct config *config)
{
	struct keys_walk walk = {0};
	struct rl_config_rule *rule;

	if (config_has_rule(config, KEYS_RULE))
		report_name(reader->report, CONFIG_ERROR, map.token,
		            "makes a rule named \"" KEYS_RULE
		            "\", and there is one among the rules");
	if (!override_room(reader, &walk.list, map))
		return;
	each_member(reader, map, visit_key, &walk);
	if (walk.limit_count == 0)
		walk.limits[walk.limit_count++] = any_limit;
	rule = walk.list.count > 0 ? rules_add(reader, config, KEYS_RULE, map.token) : NULL;
	if (rule) {
		rules_finish(reader, config, rule, walk.limits, walk.limit_count, &walk.list);
		return;
	}
	free(walk.list.at);
	free(walk.list.tokens);
}
