/* SPDX-License-Identifier: BSD-2-Clause */

#include "apply/rules_seen.h"

#include <stdlib.h>
#include <string.h>

#include "apply/changes.h"
#include "model/limit.h"

static struct rule_seen
see_rule(struct rl *rl, int id)
{
	struct rule_seen rule = {.overrides = 0};

	if (rl_rule_info(rl, id, &rule.info) != 1 || rule.info.source == RL_SOURCE_NONE)
		rule.info.limit_count = 0;
	if (rule.info.limit_count > 0)
		rule.overrides = rl_override_count(rl, rule.info.handle);
	return rule;
}

void
rules_see(struct rules_seen *seen, struct rl *rl)
{
	struct rl_info info;

	rules_seen_free(seen);
	rl_info(rl, &info);
	seen->generation = info.generation;
	seen->rules = calloc(info.rules, sizeof(*seen->rules));
	seen->count = seen->rules ? info.rules : 0;
	for (uint32_t id = 0; id < seen->count; id++)
		seen->rules[id] = see_rule(rl, (int)id);
}

void
rules_seen_free(struct rules_seen *seen)
{
	free(seen->rules);
	*seen = (struct rules_seen){.rules = NULL};
}

static unsigned
effects_of(const struct rule_seen *old, const struct rule_seen *new)
{
	unsigned effects = 0;

	if (old->info.limit_count == 0)
		return RL_EFFECT_NEW;
	if (old->info.source != new->info.source)
		effects |= RL_EFFECT_ADOPTED;
	if (old->info.limit_count != new->info.limit_count)
		effects |= RL_EFFECT_CHANGED;
	for (unsigned i = 0; i < old->info.limit_count && i < new->info.limit_count; i++)
		if (limit_difference(&old->info.limits[i], &new->info.limits[i], 0))
			effects |= RL_EFFECT_CHANGED;
	if (old->overrides != new->overrides)
		effects |= RL_EFFECT_OVERRIDES;
	return effects;
}

static void
report_rule(const struct rule_seen *old, const struct rule_seen *new, config_sink *sink, void *arg)
{
	struct rl_config_rule rule = {.rule.name = new->info.name,
	                              .rule.limit = new->info.limits[0],
	                              .rule.more = new->info.limits + 1,
	                              .rule.more_count = new->info.limit_count - 1};
	struct before before = {.info = old->info};

	if (new->overrides > old->overrides)
		before.overrides_new = new->overrides - old->overrides;
	else
		before.overrides_gone = old->overrides - new->overrides;
	changes_report(&rule, &before, effects_of(old, new), sink, arg);
}

static void
report_removed(const struct rule_seen *old, config_sink *sink, void *arg)
{
	struct rule_name names[2] = {{""}, {""}};

	memcpy(names[0].text, old->info.name, sizeof(names[0].text));
	changes_report_removed(names, sink, arg);
}

void
rules_seen_report(struct rules_seen *seen, struct rl *rl, config_sink *sink, void *arg)
{
	static const struct rule_seen nothing;
	struct rules_seen now = {.rules = NULL};

	rules_see(&now, rl);
	for (uint32_t id = 0; id < now.count && id < seen->count; id++) {
		const struct rule_seen *old = &seen->rules[id], *new = &now.rules[id];

		if (old->info.handle != new->info.handle) { /* another rule's row by now */
			if (old->info.limit_count > 0)
				report_removed(old, sink, arg);
			old = &nothing;
		}
		if (new->info.limit_count > 0)
			report_rule(old, new, sink, arg);
		else if (old->info.limit_count > 0)
			report_removed(old, sink, arg);
	}
	rules_seen_free(seen);
	*seen = now;
}
