/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/in_flight.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdlib.h>

#include "metrics/family.h"

/* The units that the keys of one rule hold. */
struct sum {
	struct rl_rule_info rule;
	uint64_t units;
	bool has_limits;
};

struct sums {
	struct sum *sum; /* by the rule's row */
	uint32_t rows;
	uint64_t limits;
};

static struct sum *
sum_of(struct sums *sums, int rule, unsigned limit)
{
	for (uint32_t i = 0; rule >= 0 && i < sums->rows; i++) {
		struct sum *sum = &sums->sum[i];

		if (sum->has_limits && sum->rule.handle == rule)
			return limit < sum->rule.limit_count &&
			                       sum->rule.limits[limit].algorithm == RL_IN_FLIGHT
			               ? sum
			               : NULL;
	}
	return NULL;
}

/* All that is wanted is known before the name is read: nothing is visited. */
static int
add(const struct rl_prefilter *prefilter, void *arg)
{
	struct sum *sum = sum_of(arg, prefilter->rule, prefilter->limit);

	if (sum)
		sum->units += prefilter->used_most;
	return 0;
}

static int
visit_none(const struct rl_entry *entry, void *arg)
{
	(void)entry;
	(void)arg;
	return 0;
}

bool
rule_has_in_flight(const struct rl_rule_info *rule)
{
	for (unsigned i = 0; i < rule->limit_count; i++)
		if (rule->limits[i].algorithm == RL_IN_FLIGHT)
			return true;
	return false;
}

static void
read_rules(struct rl *rl, struct sums *sums)
{
	for (uint32_t id = 0; id < sums->rows; id++) {
		struct sum *sum = &sums->sum[id];

		sum->has_limits = rl_rule_info(rl, (int)id, &sum->rule) == 1 && sum->rule.name[0] &&
		                  rule_has_in_flight(&sum->rule);
		sums->limits += sum->has_limits;
	}
}

static void
write_sums(FILE *to, const char *segment, const struct sums *sums)
{
	metrics_family(to, "rl_in_flight", METRICS_GAUGE,
	               "Units that are taken and not given back, of all keys of the rule.");
	for (uint32_t i = 0; i < sums->rows; i++) {
		if (!sums->sum[i].has_limits)
			continue;
		fputs("rl_in_flight{segment=\"", to);
		metrics_escape(to, segment);
		fputs("\",rule=\"", to);
		metrics_escape(to, sums->sum[i].rule.name);
		fprintf(to, "\"} %" PRIu64 "\n", sums->sum[i].units);
	}
}

int
metrics_write_in_flight(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	struct sums sums = {.rows = info->rules};

	sums.sum = calloc(sums.rows, sizeof *sums.sum);
	if (!sums.sum)
		return -ENOMEM;
	read_rules(rl, &sums);
	if (sums.limits > 0) {
		rl_walk(rl, now_ns, add, visit_none, &sums);
		write_sums(to, info->name, &sums);
	}
	metrics_number(to, rl, "rl_holders", METRICS_GAUGE,
	               "Processes that hold units in flight, or did before they ended.",
	               info->holders_used);
	metrics_number(to, rl, "rl_holders_limit", METRICS_GAUGE,
	               "Processes that can hold units in flight at the same time.", info->holders);
	free(sums.sum);
	return 0;
}
