/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration as it will be, against what is in force. */
#include <string.h>

#include "configure/job.h"
#include "rule/auto_ban.h"
#include "rule/override.h"

enum rl_bank
rl_job_current(const struct rl_job *j, int id, struct rl_refs *refs)
{
	refs->count = 0;
	return id < 0 ? RL_BANKS : rl_rules_list(j->s, id, j->generation, refs);
}

static bool
has_ref(const struct rl_refs *refs, int limit)
{
	for (unsigned i = 0; i < refs->count; i++)
		if (refs->limit[i] == limit)
			return true;
	return false;
}

static unsigned
effect_on_limits(const struct rl_job *j, const struct rl_rule *rule, enum rl_bank bank,
                 const struct rl_refs *was, const struct rl_refs *is)
{
	unsigned effect = 0;

	for (unsigned i = 0; i < is->count; i++) {
		struct rl_limit l = rl_rules_limit(rule, i);

		if (is->limit[i] < 0 || !has_ref(was, is->limit[i])) {
			effect |= RL_EFFECT_ANEW;
			continue;
		}
		if (!rl_rules_has_quota(j->s, is->limit[i], bank, &l))
			effect |= RL_EFFECT_CHANGED;
	}
	for (unsigned i = 0; i < was->count; i++)
		if (!has_ref(is, was->limit[i]))
			effect |= RL_EFFECT_DROPPED;
	if (effect == 0 && !rl_u128_equal(rl_refs_pack(was), rl_refs_pack(is)))
		effect |= RL_EFFECT_CHANGED; /* their order */
	return effect;
}

/* Does the override stand as it is in the bank in force? */
static bool
stands(const struct rl_job *j, int id, const struct rl_override *o)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_override_found found;
	struct rl_normal_pattern normal;

	rl_normal_pattern_of(&o->pattern, &normal);
	if (!rl_override_find(j->s, (unsigned)(j->generation % 2),
	                      rl_normal_pattern_hash_in(j->s, id, &normal), &budget, &found))
		return false;
	return found.kind == o->kind &&
	       (o->kind != RL_OVERRIDE_CAPACITY ||
	        memcmp(found.capacity, o->capacity, sizeof found.capacity) == 0);
}

static bool
has_same_overrides(const struct rl_job *j, int id, const struct rl_config_rule *rule)
{
	if (rl_atomic_load(&rl_rules_at(j->s, id)->override_count[j->generation % 2]) !=
	    rule->override_count)
		return false;
	for (size_t o = 0; o < rule->override_count; o++)
		if (!stands(j, id, &rule->overrides[o]))
			return false;
	return true;
}

static unsigned
effect_on_bans(const struct rl_job *j, int id, enum rl_bank bank, const struct rl_auto_ban *is)
{
	struct rl_auto_ban was = {0};

	if (bank < RL_BANK_APP)
		rl_auto_ban_get(j->s, bank, rl_rule_row(id), &was);
	if (was.after == 0 && is->after == 0)
		return 0;
	return was.after != is->after || was.longer != is->longer ||
	                       was.within_ns != is->within_ns || was.for_ns != is->for_ns ||
	                       was.at_most_ns != is->at_most_ns
	               ? RL_EFFECT_AUTO_BAN
	               : 0;
}

static unsigned
effect_of(const struct rl_job *j, const struct rl_config_rule *rule)
{
	int id = rl_rules_seek(j->s, rule->rule.name);
	struct rl_refs was, is;
	enum rl_bank bank = rl_job_current(j, id, &was);
	unsigned effect;

	if (bank == RL_BANKS)
		return RL_EFFECT_NEW;
	rl_rules_limits(j->s, id, &rule->rule, &is);
	effect = effect_on_limits(j, &rule->rule, bank, &was, &is) |
	         effect_on_bans(j, id, bank, &rule->ban);
	if (bank == RL_BANK_APP)
		return effect | RL_EFFECT_ADOPTED |
		       (rule->override_count > 0 ? RL_EFFECT_OVERRIDES : 0u);
	return effect | (has_same_overrides(j, id, rule) ? 0u : RL_EFFECT_OVERRIDES);
}

/* How many rules were configured, and are not among the new ones. */
static unsigned
count_removed(const struct rl_job *j)
{
	unsigned configured = 0;
	struct rl_refs refs;

	for (uint32_t row = 0; row < j->s->geometry.rules; row++)
		configured +=
			rl_job_current(j, rl_rules_handle(j->s, (int)row), &refs) < RL_BANK_APP;
	for (size_t i = 0; i < j->count; i++)
		configured -= rl_job_current(j, rl_rules_seek(j->s, j->rules[i].rule.name), &refs) <
		              RL_BANK_APP;
	return configured;
}

void
rl_job_report_effects(struct rl_job *j, unsigned *effects)
{
	j->outcome->removed = count_removed(j);
	j->outcome->is_changed = j->outcome->removed > 0;
	for (size_t i = 0; i < j->count; i++) {
		unsigned effect = effect_of(j, &j->rules[i]);
		j->outcome->is_changed |= effect != 0;
		if (effects)
			effects[i] = effect;
	}
}
