/* SPDX-License-Identifier: BSD-2-Clause */

#include "top/top_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/output.h"

#define LOOK_SHARE 5 /* one part of the time for looks at the keys, of so many */

void
top_model_open(struct top_model *model, struct rl *rl)
{
	memset(model, 0, sizeof(*model));
	model->rl = rl;
	model->keys.rule = RL_ANY_RULE;
	model->keys.most = TOP_KEYS_MAX;
	rl_info(rl, &model->info);
	model->rules = need(calloc(model->info.rules + 1, sizeof(*model->rules)));
	top_model_skip(model);
}

void
top_model_free(struct top_model *model)
{
	counts_free(&model->before);
	ranking_free(&model->keys);
	overflow_view_free(&model->reserve);
	free(model->rules);
}

void
top_model_skip(struct top_model *model)
{
	counts_free(&model->before);
	model->before = counts_read(model->rl, model->keys.rule);
}

static bool
has_rule(const struct counts *now, int id)
{
	for (size_t i = 0; i < now->count; i++)
		if (now->rules[i].id == id)
			return true;
	return false;
}

/* Room for a rule that was not there before: that of one that is there no more, if there is. */
static struct top_rule *
add_rule(struct top_model *model, const struct counts *now, int id)
{
	struct top_rule *rule = model->rules;

	while (rule < model->rules + model->rule_count && has_rule(now, rule->id))
		rule++;
	if (rule == model->rules + model->rule_count)
		model->rule_count++;
	*rule = (struct top_rule){.id = id};
	return rule;
}

static struct top_rule *
find_rule(struct top_model *model, const struct counts *now, const struct rule_counts *counts)
{
	struct top_rule *rule = model->rules;

	while (rule < model->rules + model->rule_count && rule->id != counts->id)
		rule++;
	if (rule == model->rules + model->rule_count)
		rule = add_rule(model, now, counts->id);
	memcpy(rule->name, counts->name, sizeof(rule->name));
	return rule;
}

static void
take_rates(struct top_model *model)
{
	struct counts now = counts_read(model->rl, model->keys.rule);
	uint64_t values[RL_COUNTERS];

	for (size_t i = 0; i < now.count; i++) {
		struct top_rule *rule = find_rule(model, &now, &now.rules[i]);

		counts_since(&now.rules[i], &model->before, values);
		rule->allowed = values[RL_COUNT_allowed];
		rule->denied = values[RL_COUNT_denied];
		rl_history_minutes(model->rl, rule->id, now.at_ns, rule->minute);
	}
	model->now_ns = now.at_ns;
	model->span_ns = now.at_ns > model->before.at_ns ? now.at_ns - model->before.at_ns : 0;
	counts_free(&model->before);
	model->before = now;
}

static int
want_key(const struct rl_prefilter *prefilter, void *arg)
{
	return ranking_wants(arg, prefilter);
}

static int
add_key(const struct rl_entry *entry, void *arg)
{
	ranking_add(arg, entry);
	return 0;
}

static int
count_ban(const struct rl_ban_info *ban, void *arg)
{
	(void)ban;
	++*(uint64_t *)arg;
	return 0;
}

void
top_model_look(struct top_model *model)
{
	uint64_t start_ns = now_by(CLOCK_MONOTONIC), end_ns;

	ranking_free(&model->keys);
	model->keys.total = 0;
	rl_walk(model->rl, rl_now(model->rl), want_key, add_key, &model->keys);
	ranking_sort(&model->keys);
	model->fill = rl_fill(model->rl);
	model->bans = 0;
	rl_bans_walk(model->rl, rl_now(model->rl), count_ban, &model->bans);
	overflow_view_free(&model->reserve);
	model->reserve = overflow_view_read(model->rl, model->keys.rule, rl_now(model->rl));
	end_ns = now_by(CLOCK_MONOTONIC);
	model->next_look_ns = end_ns + (end_ns - start_ns) * (LOOK_SHARE - 1);
}

void
top_model_sample(struct top_model *model)
{
	take_rates(model);
	if (now_by(CLOCK_MONOTONIC) >= model->next_look_ns)
		top_model_look(model);
}
