/* SPDX-License-Identifier: BSD-2-Clause */
/* stats: every counter of every rule; --watch tells what comes to them. */

#include <inttypes.h>
#include <stdio.h>

#include "base/command.h"
#include "base/counts.h"
#include "base/history_view.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "base/rate.h"
#include "base/rule.h"
#include "base/sparkline.h"
#include "base/watch.h"
#include "metrics/metrics.h"
#include "text/error_text.h"

#define HEADER_LINES 20 /* the header is repeated after so many lines */

const struct command_option stats_options[] = {
	{"rule", 'r', "RULE", "of this rule alone"},
	{"all", 'z', NULL, "counters that are 0, too"},
	{"history", 'H', NULL, "the last hour by minutes, and the last day by quarters of an hour"},
	WATCH_OPTIONS('n'),
	{"prom", 'p', NULL, "every counter, and the segment's state, as Prometheus text"},
	{0},
};

struct rates {
	struct watch time;
	bool is_json;
	unsigned lines; /* since the header */
};

/* A counter of decisions tells something by being 0, of a rule that nobody uses, say. */
static bool
is_shown(size_t counter, uint64_t value)
{
	return value > 0 || counter == RL_COUNT_allowed || counter == RL_COUNT_denied;
}

static void
print_values(const char *rule, const uint64_t values[RL_COUNTERS], bool shows_all)
{
	for (size_t i = 0; i < RL_COUNTERS; i++) {
		const struct rl_counter_info *info = rl_counter_info((int)i);

		if (!shows_all && !is_shown(i, values[i]))
			continue;
		printf("%-15s  %20" PRIu64 "  %-9s  %s\n", info->name, values[i], info->unit, rule);
	}
}

/* Which of several limits it was. */
static void
print_limits(const struct rule_counts *rule)
{
	for (unsigned i = 0; i < rule->limits && rule->limits > 1; i++)
		printf("%-15s  %20" PRIu64 "  %-9s  %s(%u)\n", "denied", rule->denied[i],
		       "decisions", rule->name, i + 1);
}

static void
write_text(const struct counts *counts, bool shows_all)
{
	uint64_t total[RL_COUNTERS];

	for (size_t i = 0; i < counts->count; i++) {
		print_values(counts->rules[i].name, counts->rules[i].values, shows_all);
		print_limits(&counts->rules[i]);
	}
	if (counts->count == 1) /* it is that rule's */
		return;
	counts_total(counts, total);
	print_values("(total)", total, shows_all);
}

static json_t *
json_rule(const char *name, const uint64_t values[RL_COUNTERS])
{
	json_t *object = need(json_object());

	json_put(object, "rule", json_text(name));
	json_put(object, "counters", counts_json(values));
	return object;
}

static json_t *
json_whole_rule(const struct rule_counts *rule)
{
	json_t *object = json_rule(rule->name, rule->values);

	json_put(object, "limits", counts_json_limits(rule));
	return object;
}

static void
write_json(const struct counts *counts)
{
	json_t *root = need(json_object()), *rules = need(json_array());
	uint64_t total[RL_COUNTERS];

	json_put(root, "rules", rules);
	for (size_t i = 0; i < counts->count; i++)
		json_push(rules, json_whole_rule(&counts->rules[i]));
	counts_total(counts, total);
	json_put(root, "total", counts_json(total));
	output_json(root);
}

static void
print_rates(struct rates *rates, const struct rule_counts *rule, uint64_t at_ns,
            const uint64_t values[RL_COUNTERS], uint64_t span_ns)
{
	static const enum rl_counter shown[] = {RL_COUNT_allowed, RL_COUNT_denied,
	                                        RL_COUNT_undecided, RL_COUNT_inserted,
	                                        RL_COUNT_folded};

	if (rates->lines++ % HEADER_LINES == 0)
		printf("%-19s  %9s  %9s  %9s  %9s  %9s  %s\n", "UTC", "allowed", "denied",
		       "undecided", "inserted", "folded", "rule");
	fputs(time_format(at_ns, false).text, stdout);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		printf("  %9s", rate_format(values[shown[i]], span_ns).text);
	printf("  %s\n", rule->name);
}

static void
show_change(struct rates *rates, const struct counts *before, const struct counts *now)
{
	json_t *root = need(json_object()), *rules = need(json_array());
	uint64_t span_ns = now->at_ns > before->at_ns ? now->at_ns - before->at_ns : 0;
	uint64_t values[RL_COUNTERS];

	json_put(root, "at_ns", json_count(now->at_ns));
	json_put(root, "span_ns", json_count(span_ns));
	json_put(root, "rules", rules);
	for (size_t i = 0; i < now->count; i++) {
		counts_since(&now->rules[i], before, values);
		if (rates->is_json)
			json_push(rules, json_rule(now->rules[i].name, values));
		else
			print_rates(rates, &now->rules[i], now->at_ns, values, span_ns);
	}
	if (rates->is_json)
		output_json_line(stdout, root);
	else
		json_decref(root);
}

/* Until interrupted, which is how it is meant to end; or nobody reads it any more. */
static void
watch_changes(struct rl *rl, int rule, struct rates *rates)
{
	struct counts before = counts_read(rl, rule);

	interrupt_catch();
	for (uint64_t i = 0; rates->time.count == 0 || i < rates->time.count; i++) {
		struct counts now;

		if (!interrupt_sleep(rates->time.interval_ns))
			break;
		now = counts_read(rl, rule);
		show_change(rates, &before, &now);
		counts_free(&before);
		before = now;
		if (fflush(stdout) != 0)
			break;
	}
	counts_free(&before);
}

/* Prometheus asks for all there is, in its own form, once. */
static bool
check_prom(const struct context *context)
{
	if (!option_value(context, "prom") ||
	    (!option_value(context, "watch") && !option_value(context, "rule") &&
	     !option_value(context, "json")))
		return true;
	complain("stats: --prom goes with none of --watch, --rule and --json");
	return false;
}

static bool
check_history(const struct context *context)
{
	if (!option_value(context, "history") ||
	    (!option_value(context, "watch") && !option_value(context, "prom")))
		return true;
	complain("stats: --history goes with neither --watch nor --prom");
	return false;
}

/* The same as rld serves. */
static int
write_prom(struct rl *rl)
{
	int error = metrics_write(stdout, rl, rl_now(rl));

	if (error < 0)
		complain("stats: %s", error_text(error).text);
	return error < 0 ? EXIT_TROUBLE : EXIT_YES;
}

/* Each rule that was ever asked, or the one that is named. */
static int
write_history(struct rl *rl, int rule, bool is_json)
{
	struct counts counts = counts_read(rl, rule);
	json_t *root = need(json_object()), *rules = need(json_array());
	bool is_utf8 = sparkline_has_utf8();

	json_put(root, "rules", rules);
	for (size_t i = 0; i < counts.count; i++) {
		struct history_view view;
		json_t *object;

		history_view_read(rl, counts.rules[i].id, counts.at_ns, &view);
		if (!is_json) {
			history_view_print(counts.rules[i].name, &view, is_utf8);
			continue;
		}
		object = history_view_json(&view);
		json_put(object, "rule", json_text(counts.rules[i].name));
		json_push(rules, object);
	}
	if (is_json)
		output_json(root);
	else
		json_decref(root);
	counts_free(&counts);
	return EXIT_YES;
}

static int
show(const struct context *context, struct rl *rl, struct rates *rates)
{
	int rule = rule_option(rl, context);
	struct counts counts;

	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (option_value(context, "prom"))
		return write_prom(rl);
	if (option_value(context, "history"))
		return write_history(rl, rule, rates->is_json);
	if (rates->time.is_on) {
		watch_changes(rl, rule, rates);
		return EXIT_YES;
	}
	counts = counts_read(rl, rule);
	if (rates->is_json)
		write_json(&counts);
	else
		write_text(&counts, option_value(context, "all") != NULL);
	counts_free(&counts);
	return EXIT_YES;
}

int
run_stats(const struct context *context)
{
	struct rates rates = {.is_json = option_value(context, "json") != NULL};
	struct rl *rl =
		check_prom(context) && check_history(context) && watch_read(context, &rates.time)
			? open_segment(context)
			: NULL;

	return rl ? show(context, rl, &rates) : EXIT_TROUBLE;
}
