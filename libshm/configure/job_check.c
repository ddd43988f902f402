/* SPDX-License-Identifier: BSD-2-Clause */
/* May a configuration be put into force? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/in_flight.h"
#include "configure/job.h"
#include "configure/names.h"
#include "rule/auto_ban.h"
#include "rule/override.h"
#include "rule/shape.h"

int
rl_job_fault(struct rl_job *j, size_t rule, size_t override, int error)
{
	j->outcome->rule = rule;
	j->outcome->override = override;
	return error;
}

static int
compare_names(const void *a, const void *b)
{
	const struct rl_config_rule *const *x = a, *const *y = b;
	int order = strcmp((*x)->rule.name, (*y)->rule.name);

	return order != 0 ? order : *x < *y ? -1 : 1;
}

/* The later one of two of the same name is at fault. */
static int
check_names(struct rl_job *j)
{
	const struct rl_config_rule **sorted = calloc(j->count + 1, sizeof *sorted);
	int error = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < j->count; i++)
		sorted[i] = &j->rules[i];
	qsort(sorted, j->count, sizeof *sorted, compare_names);
	for (size_t i = 1; i < j->count && error == 0; i++)
		if (strcmp(sorted[i - 1]->rule.name, sorted[i]->rule.name) == 0)
			error = rl_job_fault(j, (size_t)(sorted[i] - j->rules),
			                     sorted[i]->override_count, -EINVAL);
	free(sorted);
	return error;
}

/* Of the limit with that capacity. */
static uint32_t
ring_least(const struct rl_rule *rule, unsigned i, uint32_t capacity)
{
	struct rl_limit limit = rl_rules_limit(rule, i);

	limit.capacity = capacity;
	return rl_shape_ring_least(&limit);
}

static int
check_override(const struct rl_job *j, const struct rl_config_rule *rule,
               const struct rl_override *o)
{
	unsigned limits = (unsigned)rule->rule.more_count + 1;
	struct rl_normal_pattern normal;
	int error = rl_normal_pattern_of(&o->pattern, &normal);

	if (error < 0 || (unsigned)o->kind > RL_OVERRIDE_UNLIMITED)
		return error < 0 ? error : -EINVAL;
	for (unsigned i = 0; o->kind == RL_OVERRIDE_CAPACITY && i < RL_LIMITS_MAX; i++) {
		if (o->capacity[i] > RL_CAPACITY_MAX || (i >= limits && o->capacity[i] > 0))
			return -EINVAL;
		if (i < limits && ring_least(&rule->rule, i, o->capacity[i]) > j->s->geometry.ring)
			return RL_ERING;
		if (i < limits && rl_rules_limit(&rule->rule, i).algorithm == RL_IN_FLIGHT &&
		    o->capacity[i] > RL_IN_FLIGHT_MAX)
			return -EINVAL;
	}
	return rl_override_slots(o, limits) > 0 ? 0 : -EINVAL;
}

struct seen {
	uint64_t hash;
	size_t at;
};

static int
compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* No pattern twice, however written; the later one is at fault. All were checked. */
static int
check_patterns(struct rl_job *j, size_t i)
{
	const struct rl_config_rule *rule = &j->rules[i];
	struct seen *seen = calloc(rule->override_count + 1, sizeof *seen);
	struct rl_normal_pattern normal;
	int error = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t o = 0; o < rule->override_count; o++) {
		rl_normal_pattern_of(&rule->overrides[o].pattern, &normal);
		seen[o] = (struct seen){.hash = rl_normal_pattern_hash(j->s, &normal).a, .at = o};
	}
	qsort(seen, rule->override_count, sizeof *seen, compare_seen);
	for (size_t o = 1; o < rule->override_count && error == 0; o++)
		if (seen[o - 1].hash == seen[o].hash)
			error = rl_job_fault(j, i, seen[o].at, -EINVAL);
	free(seen);
	return error;
}

static int
check_rule(struct rl_job *j, size_t i, uint64_t *slots)
{
	const struct rl_config_rule *rule = &j->rules[i];
	size_t limit;
	int error = rl_rules_check(j->s, &rule->rule, &limit);

	if (error == 0)
		error = rl_auto_ban_check(&rule->ban);
	if (error < 0)
		return rl_job_fault(j, i, rule->override_count, error);
	for (size_t o = 0; o < rule->override_count; o++) {
		error = check_override(j, rule, &rule->overrides[o]);
		if (error < 0)
			return rl_job_fault(j, i, o, error);
		*slots +=
			rl_override_slots(&rule->overrides[o], (unsigned)rule->rule.more_count + 1);
	}
	return check_patterns(j, i);
}

int
rl_job_check(struct rl_job *j)
{
	uint64_t slots = 0, room = j->s->geometry.override_slots / RL_SLOTS_PER_ENTRY;
	int error = 0;

	for (size_t i = 0; i < j->count && error == 0; i++)
		error = check_rule(j, i, &slots);
	if (error == 0)
		error = check_names(j);
	if (error == 0 && slots > room) {
		j->outcome->needed = slots;
		error = RL_EOVERRIDES;
	}
	return error;
}

/* How many limits of the rule have no row that is kept for them. */
static unsigned
new_limits(const struct rl_job *j, int id, const struct rl_rule *rule,
           const struct rl_row_set *kept)
{
	struct rl_refs refs;
	unsigned count = 0;

	if (id < 0)
		return (unsigned)rule->more_count + 1;
	rl_rules_limits(j->s, id, rule, &refs);
	for (unsigned i = 0; i < refs.count; i++)
		count += refs.limit[i] < 0 || !rl_row_set_has(kept, refs.limit[i]);
	return count;
}

static int
no_room(struct rl_job *j, size_t rule, uint64_t needed, int error)
{
	j->outcome->needed = needed;
	return rl_job_fault(j, rule, j->rules[rule].override_count, error);
}

int
rl_job_check_rows(struct rl_job *j)
{
	const struct rl_geometry *g = &j->s->geometry;
	struct rl_row_set kept, names;
	uint64_t rules = rl_names_kept(j->s, &names), limits = rl_rows_kept(j->s, &kept);
	size_t no_rule = j->count, no_limit = j->count;

	for (size_t i = 0; i < j->count; i++) {
		int id = rl_rules_seek(j->s, j->rules[i].rule.name);
		rules += id < 0 || !rl_row_set_has(&names, rl_rule_row(id));
		limits += new_limits(j, id, &j->rules[i].rule, &kept);
		if (no_rule == j->count && rules > g->rules)
			no_rule = i;
		if (no_limit == j->count && limits > g->limits)
			no_limit = i;
	}
	if (no_rule < j->count)
		return no_room(j, no_rule, rules, RL_ERULES);
	return no_limit < j->count ? no_room(j, no_limit, limits, RL_ELIMITS) : 0;
}
