/* SPDX-License-Identifier: BSD-2-Clause */
/* stats: every counter of every rule; --watch tells what comes to them. */

#include <inttypes.h>
#include <stdio.h>

#include "base/command.h"
#include "base/counts.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/output.h"
#include "base/rate.h"
#include "base/rule.h"
#include "metrics/metrics.h"
#include "text/duration.h"

#define INTERVAL_MIN (10 * RL_MILLISECOND)
#define HEADER_LINES 20 /* the header is repeated after so many lines */

const struct command_option stats_options[] = {
	{"rule", 'r', "RULE", "of this rule alone"},
	{"all", 'z', NULL, "counters that are 0, too"},
	{"watch", 'w', NULL, "rates, again and again, until interrupted"},
	{"interval", 'i', "D", "how long --watch counts for a rate; default: 1s"},
	{"count", 'n', "N", "end --watch after N times"},
	{"prom", 'p', NULL, "every counter, and the segment's state, as Prometheus text"},
	{0},
};

struct watch {
	bool is_json;
	uint64_t interval_ns;
	uint64_t count; /* 0: no end */
	unsigned lines; /* since the header */
};

/* What counts decisions tells something by being 0, of a rule that nobody uses, say. */
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

static void
write_text(const struct counts *counts, bool shows_all)
{
	uint64_t total[RL_COUNTERS];

	for (size_t i = 0; i < counts->count; i++)
		print_values(counts->rules[i].name, counts->rules[i].values, shows_all);
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

static void
write_json(const struct counts *counts)
{
	json_t *root = need(json_object()), *rules = need(json_array());
	uint64_t total[RL_COUNTERS];

	json_put(root, "rules", rules);
	for (size_t i = 0; i < counts->count; i++)
		json_push(rules, json_rule(counts->rules[i].name, counts->rules[i].values));
	counts_total(counts, total);
	json_put(root, "total", counts_json(total));
	output_json(root);
}

static void
print_rates(struct watch *watch, const struct rule_counts *rule, uint64_t at_ns,
            const uint64_t values[RL_COUNTERS], uint64_t span_ns)
{
	static const enum rl_counter shown[] = {RL_COUNT_allowed, RL_COUNT_denied,
	                                        RL_COUNT_undecided, RL_COUNT_inserted,
	                                        RL_COUNT_evicted};

	if (watch->lines++ % HEADER_LINES == 0)
		printf("%-19s  %9s  %9s  %9s  %9s  %9s  %s\n", "UTC", "allowed", "denied",
		       "undecided", "inserted", "evicted", "rule");
	fputs(time_format(at_ns, false).text, stdout);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		printf("  %9s", rate_format(values[shown[i]], span_ns).text);
	printf("  %s\n", rule->name);
}

static void
show_change(struct watch *watch, const struct counts *before, const struct counts *now)
{
	json_t *root = need(json_object()), *rules = need(json_array());
	uint64_t span_ns = now->at_ns > before->at_ns ? now->at_ns - before->at_ns : 0;
	uint64_t values[RL_COUNTERS];

	json_put(root, "at_ns", json_count(now->at_ns));
	json_put(root, "span_ns", json_count(span_ns));
	json_put(root, "rules", rules);
	for (size_t i = 0; i < now->count; i++) {
		counts_since(&now->rules[i], before, values);
		if (watch->is_json)
			json_push(rules, json_rule(now->rules[i].name, values));
		else
			print_rates(watch, &now->rules[i], now->at_ns, values, span_ns);
	}
	if (watch->is_json)
		output_json_line(stdout, root);
	else
		json_decref(root);
}

/* Until interrupted, which is how it is meant to end; or nobody reads it any more. */
static void
watch_changes(struct rl *rl, int rule, struct watch *watch)
{
	struct counts before = counts_read(rl, rule);

	interrupt_catch();
	for (uint64_t i = 0; watch->count == 0 || i < watch->count; i++) {
		struct counts now;

		if (!interrupt_sleep(watch->interval_ns))
			break;
		now = counts_read(rl, rule);
		show_change(watch, &before, &now);
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
read_interval(const char *text, uint64_t *interval_ns)
{
	const char *wrong = duration_parse(text, interval_ns);

	if (!wrong && *interval_ns < INTERVAL_MIN)
		wrong = "is less than 10ms";
	if (wrong)
		complain("--interval: '%s' %s", text, wrong);
	return !wrong;
}

static bool
read_watch(const struct context *context, struct watch *watch)
{
	const char *interval = option_value(context, "interval");
	const char *count = option_value(context, "count");

	if ((interval || count) && !option_value(context, "watch")) {
		complain("stats: --interval and --count go with --watch");
		return false;
	}
	return (!interval || read_interval(interval, &watch->interval_ns)) &&
	       (!count || number_need("--count", count, 1, UINT32_MAX, &watch->count));
}

/* The same as rld serves. */
static int
write_prom(struct rl *rl)
{
	int error = metrics_write(stdout, rl, rl_now(rl));

	if (error < 0)
		complain("stats: %s", rl_strerror(error));
	return error < 0 ? EXIT_TROUBLE : EXIT_YES;
}

static int
show(const struct context *context, struct rl *rl, struct watch *watch)
{
	int rule = rule_option(rl, context);
	struct counts counts;

	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (option_value(context, "prom"))
		return write_prom(rl);
	if (option_value(context, "watch")) {
		watch_changes(rl, rule, watch);
		return EXIT_YES;
	}
	counts = counts_read(rl, rule);
	if (watch->is_json)
		write_json(&counts);
	else
		write_text(&counts, option_value(context, "all") != NULL);
	counts_free(&counts);
	return EXIT_YES;
}

int
run_stats(const struct context *context)
{
	struct watch watch = {.is_json = option_value(context, "json") != NULL,
	                      .interval_ns = RL_SECOND};
	struct rl *rl =
		check_prom(context) && read_watch(context, &watch) ? open_segment(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = show(context, rl, &watch);
	rl_close(rl);
	return status;
}
