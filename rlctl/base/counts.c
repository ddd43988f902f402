/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/rule.h"

static void
read_rule(struct rl *rl, int wanted, int id, struct counts *counts)
{
	struct rule_counts *rule = &counts->rules[counts->count];
	struct rl_rule_info info;

	if (!rule_read(rl, id, &info) || (wanted != RL_ANY_RULE && wanted != info.handle) ||
	    rl_stats(rl, info.handle, rule->values, RL_COUNTERS) < 0)
		return;
	rule->id = info.handle;
	memcpy(rule->name, info.name, sizeof(rule->name));
	for (unsigned i = 0; i < info.limit_count; i++)
		if (rl_limit_stats(rl, info.handle, i, &rule->denied[i], &rule->shadow_denied[i]) ==
		    0)
			rule->limits = i + 1;
	counts->count++;
}

struct counts
counts_read(struct rl *rl, int rule)
{
	struct counts counts = {.at_ns = rl_now(rl)};
	struct rl_info info;

	rl_info(rl, &info);
	counts.rules = need(calloc(info.rules + 1, sizeof(*counts.rules)));
	for (uint32_t id = 0; id < info.rules; id++)
		read_rule(rl, rule, (int)id, &counts);
	return counts;
}

void
counts_free(struct counts *counts)
{
	free(counts->rules);
	counts->rules = NULL;
	counts->count = 0;
}

void
counts_total(const struct counts *counts, uint64_t values[RL_COUNTERS])
{
	memset(values, 0, RL_COUNTERS * sizeof(*values));
	for (size_t rule = 0; rule < counts->count; rule++)
		for (size_t i = 0; i < RL_COUNTERS; i++)
			values[i] += counts->rules[rule].values[i];
}

json_t *
counts_json_limits(const struct rule_counts *rule)
{
	json_t *array = need(json_array());

	for (unsigned i = 0; i < rule->limits; i++) {
		json_t *object = need(json_object());

		json_put(object, "limit_number", json_count(i + UINT64_C(1)));
		json_put(object, "denied", json_count(rule->denied[i]));
		json_put(object, "shadow_denied", json_count(rule->shadow_denied[i]));
		json_push(array, object);
	}
	return array;
}

static const struct rule_counts *
find_rule(const struct counts *counts, int id)
{
	for (size_t i = 0; i < counts->count; i++)
		if (counts->rules[i].id == id)
			return &counts->rules[i];
	return NULL;
}

/* Counters only grow, but nothing in the segment is to be trusted. */
void
counts_since(const struct rule_counts *rule, const struct counts *before,
             uint64_t values[RL_COUNTERS])
{
	const struct rule_counts *old = find_rule(before, rule->id);

	for (size_t i = 0; i < RL_COUNTERS; i++) {
		uint64_t then = old ? old->values[i] : 0;

		values[i] = rule->values[i] > then ? rule->values[i] - then : 0;
	}
}

json_t *
counts_json(const uint64_t values[RL_COUNTERS])
{
	json_t *object = need(json_object());

	for (size_t i = 0; i < RL_COUNTERS; i++)
		json_put(object, rl_counter_info((int)i)->name, json_count(values[i]));
	return object;
}
