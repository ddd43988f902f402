/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include <inttypes.h>
#include <metrics.h>
#include <stdio.h>
#include <string.h>

/* What is worth a warning, and what it means for those concerned. */
static const struct {
	enum rl_counter counter;
	const char *text;
} warnings[] = {
	{RL_COUNT_evicted, "live keys lost their count to make room for others: they may use "
                           "their limit again"},
	{RL_COUNT_full_denied, "requests were denied because their key found no place"},
	{RL_COUNT_full_allowed, "requests were allowed uncounted because their key found no place"},
	{RL_COUNT_full_undecided, "requests got no decision because no key could be evicted"},
};

static void
sum_counters(struct rl *rl, uint64_t sums[RL_COUNTERS])
{
	uint64_t values[RL_COUNTERS];
	struct rl_info info;

	memset(sums, 0, RL_COUNTERS * sizeof sums[0]);
	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules; id++) {
		if (rl_stats(rl, (int)id, values, RL_COUNTERS) < 0)
			continue;
		for (int c = 0; c < RL_COUNTERS; c++)
			sums[c] += values[c];
	}
}

void
watch_start(struct watch *watch, struct rl *rl, uint64_t now_ns)
{
	*watch = (struct watch){.rl = rl, .looked_ns = now_ns};
	sum_counters(rl, watch->stood);
	watch_rules(watch);
}

void
watch_end(struct watch *watch)
{
	rules_seen_free(&watch->rules);
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

/* Sums wrap as the counters do: that one went back shows as a step beyond what can be. */
static void
count(struct watch *watch, uint64_t passed_ns)
{
	uint64_t sums[RL_COUNTERS];

	sum_counters(watch->rl, sums);
	for (int c = 0; c < RL_COUNTERS; c++) {
		uint64_t step = sums[c] - watch->stood[c];

		if (metrics_can_be(step, passed_ns))
			watch->seen[c] += step;
		else
			say_damaged(watch, c);
		watch->stood[c] = sums[c];
	}
}

static void
warn(struct watch *watch, uint64_t now_ns)
{
	for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++) {
		enum rl_counter c = warnings[i].counter;
		uint64_t more = watch->seen[c] - watch->told[c];

		if (more == 0 || !log_may(&watch->pace[c], now_ns))
			continue;
		log_line(LOG_WARNING, "%" PRIu64 " %s; a segment for more keys ends this", more,
		         warnings[i].text);
		watch->told[c] = watch->seen[c];
	}
}

/* Once when it gets there, and again only after it was well below. */
static void
warn_of_fill(struct watch *watch, uint64_t taken, uint64_t slots)
{
	if (taken > slots / 10 * 7 && watch->is_nearly_full)
		return;
	watch->is_nearly_full = taken > slots / 4 * 3;
	if (watch->is_nearly_full)
		log_line(LOG_WARNING,
		         "%" PRIu64 " of %" PRIu64
		         " places are taken: some keys will find none, and "
		         "are then treated as on_full says; stale keys are swept faster",
		         taken, slots);
}

static uint64_t
decisions(const uint64_t counters[RL_COUNTERS])
{
	return counters[RL_COUNT_allowed] + counters[RL_COUNT_denied] + counters[RL_COUNT_never] +
	       counters[RL_COUNT_undecided];
}

static void
tell_generation(struct watch *watch, uint64_t generation)
{
	if (generation == watch->rules.generation)
		return;
	log_line(LOG_NOTICE,
	         "another process has changed the configuration, generation %" PRIu64
	         ", was %" PRIu64,
	         generation, watch->rules.generation);
	rules_seen_tell(&watch->rules, watch->rl, log_config, NULL);
}

void
watch_look(struct watch *watch, uint64_t taken, uint64_t now_ns, char text[static WATCH_TEXT])
{
	uint64_t before = decisions(watch->seen);
	uint64_t passed_ms = (now_ns - watch->looked_ns) / RL_MILLISECOND;
	uint64_t slots, permille, rate;
	struct rl_info info;

	rl_info(watch->rl, &info);
	count(watch, now_ns - watch->looked_ns);
	slots = info.slots > 0 ? info.slots : 1;
	permille = taken * 1000 / slots;
	rate = passed_ms > 0 ? (decisions(watch->seen) - before) * 1000 / passed_ms : 0;
	watch->looked_ns = now_ns;
	warn(watch, now_ns);
	warn_of_fill(watch, taken, slots);
	tell_generation(watch, info.generation);
	snprintf(text, WATCH_TEXT,
	         "%" PRIu64 " keys, fill %" PRIu64 ".%" PRIu64 " %%, %" PRIu64 " decisions/s",
	         taken, permille / 10, permille % 10, rate);
}
