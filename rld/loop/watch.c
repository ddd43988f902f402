/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop/watch.h"

#include <inttypes.h>
#include <metrics/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE_KEYS "a segment for more keys ends this"

/* Warnings: each with its meaning for those concerned, and what ends it. */
static const struct {
	enum rl_counter counter;
	const char *text, *remedy;
} warnings[] = {
	{RL_COUNT_full_denied, "requests were denied because their key found no slot", MORE_KEYS},
	{RL_COUNT_full_allowed, "requests were allowed uncounted because their key found no slot",
         MORE_KEYS},
	{RL_COUNT_full_undecided, "requests got no decision because a counter found no slot",
         MORE_KEYS},
	{RL_COUNT_reserved,
         "decisions were for keys without a slot, counted together with others: none is admitted "
         "too much, some may be denied too early",
         MORE_KEYS},
	{RL_COUNT_reserve_denied,
         "requests of keys without a slot were denied, some of them for what others had used",
         "'rlctl doctor' says by which rules; " MORE_KEYS},
	{RL_COUNT_folded,
         "keys gave their slot to another rule's, and are counted together with others", MORE_KEYS},
	{RL_COUNT_redefined, "definitions of rules were replaced by different ones",
         "if no application has changed its limits, two define a rule differently: configure the "
         "rule, or use two names; 'rlctl doctor' says which"},
};

/* The growth of the counters of a row's rule since the last look; all of them for a new rule. */
static void
add_steps(struct watch *watch, uint32_t row, uint64_t steps[RL_COUNTERS])
{
	struct watch_row *stood = &watch->rows[row];
	uint64_t values[RL_COUNTERS];
	struct rl_rule_info rule;

	if (rl_rule_info(watch->rl, (int)row, &rule) != 1 ||
	    rl_stats(watch->rl, rule.handle, values, RL_COUNTERS) < 0)
		return;
	if (stood->rule != rule.handle)
		*stood = (struct watch_row){.rule = rule.handle};
	for (int c = 0; c < RL_COUNTERS; c++) {
		steps[c] += values[c] - stood->counters[c];
		stood->counters[c] = values[c];
	}
}

static void
take_steps(struct watch *watch, uint64_t steps[RL_COUNTERS])
{
	memset(steps, 0, RL_COUNTERS * sizeof steps[0]);
	for (uint32_t row = 0; row < watch->row_count; row++)
		add_steps(watch, row, steps);
}

void
watch_start(struct watch *watch, struct rl *rl, uint64_t now_ns)
{
	uint64_t unused[RL_COUNTERS];
	struct rl_info info;

	*watch = (struct watch){.rl = rl, .looked_ns = now_ns, .reported_rule = -1};
	rl_info(rl, &info);
	watch->rows = calloc(info.rules, sizeof *watch->rows);
	watch->row_count = watch->rows ? info.rules : 0;
	take_steps(watch, unused);
	watch_rules(watch);
}

void
watch_end(struct watch *watch)
{
	rules_seen_free(&watch->rules);
	free(watch->rows);
	watch->rows = NULL;
	watch->row_count = 0;
}

void
watch_rules(struct watch *watch)
{
	rules_see(&watch->rules, watch->rl);
}

static void
say_damaged(struct watch *watch, int counter)
{
	struct rl_info info;

	if (watch->is_damaged)
		return;
	watch->is_damaged = true;
	rl_info(watch->rl, &info);
	log_line(LOG_WARNING,
	         "segment '%s': the statistics are damaged ('%s' has moved by what cannot have "
	         "happened): somebody who may write it has written over them. Such numbers are "
	         "left out",
	         info.name, rl_counter_info(counter)->name);
}

/* Steps wrap as the counters do: that one went back shows as a step beyond what can be. */
static void
count(struct watch *watch, uint64_t passed_ns)
{
	uint64_t steps[RL_COUNTERS];

	take_steps(watch, steps);
	for (int c = 0; c < RL_COUNTERS; c++) {
		if (metrics_can_be(steps[c], passed_ns))
			watch->seen[c] += steps[c];
		else
			say_damaged(watch, c);
	}
}

static void
warn(struct watch *watch, uint64_t now_ns)
{
	for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
		enum rl_counter c = warnings[i].counter;
		uint64_t more = watch->seen[c] - watch->reported[c];

		if (more == 0 || !log_may(&watch->pace[c], now_ns))
			continue;
		log_line(LOG_WARNING, "%" PRIu64 " %s; %s", more, warnings[i].text,
		         warnings[i].remedy);
		watch->reported[c] = watch->seen[c];
	}
}

/* Once when it gets there, and again only after it was well below. */
static void
warn_of_fill(struct watch *watch, uint64_t used, uint64_t slots)
{
	if (used > slots / 10 * 7 && watch->is_nearly_full)
		return;
	watch->is_nearly_full = used > slots / 4 * 3;
	if (watch->is_nearly_full)
		log_line(LOG_WARNING,
		         "%" PRIu64 " of %" PRIu64 " slots are used: some keys will find none, and "
		         "are then treated as on_full says; stale keys are swept faster",
		         used, slots);
}

/* The line is documented in rld(8), and systemd/fail2ban reads it: keep both as it is. */
static void
warn_of_network(struct watch *watch, const struct shares *s, const struct rl_info *info,
                unsigned fill, uint64_t now_ns)
{
	const struct share_network *network = shares_network(s, s->used, WATCH_SHARE);

	if (!shares_network(s, s->used, WATCH_SHARE_LOW))
		watch->reported_network[0] = '\0';
	if (!network || strcmp(network->text, watch->reported_network) == 0 ||
	    !log_may(&watch->network_pace, now_ns))
		return;
	strcpy(watch->reported_network, network->text);
	log_line(LOG_WARNING,
	         "segment '%s': network %s takes %u %% of the used slots, and %u %% of all are "
	         "used; 'rlctl --segment %s ban %s --for 1h' denies it",
	         info->name, network->text, share_percent(network->keys, s->used), fill, info->name,
	         network->text);
}

/* Of one rule alone, it is not news that it has the table. */
static void
warn_of_rule(struct watch *watch, const struct shares *s, const struct rl_info *info, unsigned fill,
             uint64_t now_ns)
{
	const struct share_rule *most = shares_rule(s, WATCH_SHARE);
	struct rl_rule_info rule;

	if (!shares_rule(s, WATCH_SHARE_LOW))
		watch->reported_rule = -1;
	if (!most || most->rule == watch->reported_rule || info->rules_used < 2 ||
	    rl_rule_info(watch->rl, most->rule, &rule) != 1 || !log_may(&watch->rule_pace, now_ns))
		return;
	watch->reported_rule = most->rule;
	log_line(LOG_WARNING,
	         "segment '%s': rule '%s' takes %u %% of the used slots, and %u %% of all are "
	         "used; 'rlctl --segment %s list --rule %s' shows whose",
	         info->name, rule.name, share_percent(most->slots, s->used), fill, info->name,
	         rule.name);
}

/*
 * Looked for only where there is little room: what takes most of a table with room takes nothing
 * away.
 */
static void
warn_of_shares(struct watch *watch, const struct rl_info *info, uint64_t used, uint64_t now_ns)
{
	struct shares shares;

	if (!watch->is_nearly_full) {
		watch->reported_network[0] = '\0';
		watch->reported_rule = -1;
		return;
	}
	if (shares_take(watch->rl, rl_now(watch->rl), &shares) < 0)
		return;
	warn_of_network(watch, &shares, info, share_percent(used, info->slots), now_ns);
	warn_of_rule(watch, &shares, info, share_percent(used, info->slots), now_ns);
	shares_free(&shares);
}

static uint64_t
decisions(const uint64_t counters[RL_COUNTERS])
{
	return counters[RL_COUNT_allowed] + counters[RL_COUNT_denied] + counters[RL_COUNT_never] +
	       counters[RL_COUNT_undecided];
}

static void
report_generation(struct watch *watch, uint64_t generation)
{
	if (generation == watch->rules.generation)
		return;
	log_line(LOG_NOTICE,
	         "another process has changed the configuration, generation %" PRIu64
	         ", was %" PRIu64,
	         generation, watch->rules.generation);
	rules_seen_report(&watch->rules, watch->rl, log_config, NULL);
}

void
watch_look(struct watch *watch, uint64_t used, uint64_t now_ns, char text[static WATCH_TEXT])
{
	uint64_t before = decisions(watch->seen);
	uint64_t passed_ms = (now_ns - watch->looked_ns) / RL_MILLISECOND;
	uint64_t slots, permille, rate;
	struct rl_info info;

	rl_info(watch->rl, &info);
	count(watch, now_ns - watch->looked_ns);
	slots = info.slots > 0 ? info.slots : 1;
	permille = used * 1000 / slots;
	rate = passed_ms > 0 ? (decisions(watch->seen) - before) * 1000 / passed_ms : 0;
	watch->looked_ns = now_ns;
	warn(watch, now_ns);
	warn_of_fill(watch, used, slots);
	warn_of_shares(watch, &info, used, now_ns);
	report_generation(watch, info.generation);
	snprintf(text, WATCH_TEXT,
	         "%" PRIu64 " keys, fill %" PRIu64 ".%" PRIu64 " %%, %" PRIu64 " decisions/s", used,
	         permille / 10, permille % 10, rate);
}
