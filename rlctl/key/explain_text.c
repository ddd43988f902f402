/* SPDX-License-Identifier: BSD-2-Clause */
/* An explanation in words and small charts. */

#include <inttypes.h>
#include <string.h>

#include "base/limit_view.h"
#include "key/explain.h"
#include "key/key_chart.h"
#include "key/usage.h"
#include "text/duration.h"
#include "text/names.h"

static const char *
what_counts(const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = algorithm_info(limit->algorithm);

	if (info->flags & RL_IS_HELD)
		return "what is held, until it is given back or its process ends";
	if (info->flags & RL_HAS_GRANULARITY)
		return limit->hard ? "the sub-buckets below, the oldest in full"
		                   : "the sub-buckets below, the oldest by the share that is left "
		                     "of it";
	if (info->flags & RL_IS_WINDOW)
		return "all since the window began, and nothing once it ends";
	if (info->ring_per_unit > 0)
		return "each time below, until it is a window old";
	return info->flags & RL_HAS_UNDELAYED ? "what waits to leak out"
	                                      : "tokens that have not come back yet";
}

/* When a request of cost 1 goes again, and when nothing counts any more. */
static void
print_times(FILE *out, const struct usage *usage)
{
	fprintf(out, "retry after  %s\n", duration_format(usage->retry_after_ns).text);
	fprintf(out, "reset after  %s\n", duration_format(usage->reset_after_ns).text);
}

/* As exact as it is known, and how many of them were just now. */
static void
print_denied(FILE *out, const struct usage *usage)
{
	char rate[DENIED_TEXT_MAX];

	fprintf(out, "denied       %" PRIu64, usage->denied);
	if (usage->denied_error > 0)
		fprintf(out, ", give or take %" PRIu64, usage->denied_error);
	if (usage->denied_rate > 0)
		fprintf(out, "; %s a second", usage_denied_rate(usage, rate));
	fputc('\n', out);
}

static void
print_usage(FILE *out, const struct usage *usage)
{
	fprintf(out, "state        %s\n", usage_state(usage));
	fprintf(out, "used         %" PRIu64 "\n", usage->used);
	fprintf(out, "limit        %" PRIu32 "\n", usage->limit);
	fprintf(out, "remaining    %" PRIu32 "\n", usage->remaining);
	if (usage->tier > 0)
		fprintf(out, "tier         %" PRIu32 ", of its last request that had one\n",
		        usage->tier);
	print_denied(out, usage);
	if (!usage->is_held)
		print_times(out, usage);
}

/* A limit with prefixes counts the network, not the address that was asked for. */
static void
print_counted_key(FILE *out, const struct key_view *asked, const struct rl_entry *entry)
{
	struct key_view key = entry_key(entry);

	if (!key.bytes ||
	    (key.kept == asked->len && memcmp(key.bytes, asked->bytes, key.kept) == 0))
		return;
	if (key.kept < key.len)
		return;
	fputs("counted as   ", out);
	output_key(out, &key);
	putc('\n', out);
}

static void
print_counted(FILE *out, const struct explanation *x, unsigned i, bool is_whole)
{
	const struct rl_limit *limit = &x->decision.info.limits[i];
	const struct rl_entry *entry = &x->counted[i].entry;
	struct usage usage = usage_of(entry);

	print_counted_key(out, &x->decision.key, entry);
	print_usage(out, &usage);
	fprintf(out, "counts       %s\n", what_counts(limit));
	holders_print(out, &x->holders, i);
	key_chart_print(out, limit, entry, x->now_ns, is_whole);
}

static void
print_active_bans(FILE *out, struct rl *rl, const struct explanation *x)
{
	active_bans_print(out, rl, &x->active_bans);
	timed_print(out, rl, &x->timed);
	for (size_t i = 0; i < x->overrides.count; i++) {
		fputs("stands       ", out);
		override_print(out, &x->overrides.items[i], x->decision.info.limit_count);
	}
}

/* A counter by key decides nothing: it has no more than a value and an end. */
static void
print_counter(FILE *out, struct rl *rl, const struct explanation *x)
{
	struct usage usage = usage_of(&x->counted[0].entry);

	print_active_bans(out, rl, x);
	if (!x->counted[0].is_there) {
		fputs("value        nothing counted\n", out);
		return;
	}
	fprintf(out, "value        %" PRIu64 "\n", usage.used);
	fprintf(out, "expires in   %s\n",
	        usage.reset_after_ns == RL_NEVER_NS ? "never"
	                                            : duration_format(usage.reset_after_ns).text);
}

static void
print_in_overflow(FILE *out, const struct rl_result *result)
{
	fprintf(out, "no slot      counted with others, %" PRIu32 " of %" PRIu32 "\n", result->used,
	        result->limit);
	fprintf(out, "remaining    %" PRIu32 "\n", result->remaining);
	fprintf(out, "retry after  at most %s\n", duration_format(result->retry_after_ns).text);
	fprintf(out, "reset after  at most %s\n", duration_format(result->reset_after_ns).text);
}

static void
print_limit(FILE *out, const struct explanation *x, unsigned i, bool is_whole)
{
	const struct rl_rule_info *info = &x->decision.info;
	const struct rl_result *in_cell = explanation_in_overflow(x, i);

	putc('\n', out);
	if (info->limit_count > 1)
		fprintf(out, "limit %u of %u: ", i + 1, info->limit_count);
	fprintf(out, "%s\n", limit_format(&info->limits[i]).text);
	if (info->limits[i].scope == RL_SCOPE_CLUSTER)
		share_view_print(out, &x->counted[i].share, &info->limits[i]);
	if (x->counted[i].is_there)
		print_counted(out, x, i, is_whole);
	else if (in_cell)
		print_in_overflow(out, in_cell);
	else
		fputs("nothing counted\n", out);
}

void
explanation_print(FILE *out, struct rl *rl, const struct explanation *x, bool is_whole)
{
	fprintf(out, "rule         %s\nkey          ", x->decision.rule);
	output_key(out, &x->decision.key);
	if (x->decision.info.limit_count > 0 &&
	    x->decision.info.limits[0].algorithm == RL_COUNTER) {
		putc('\n', out);
		print_counter(out, rl, x);
		return;
	}
	fputs("\nanswer       ", out);
	decision_print_verdict(out, &x->decision);
	print_active_bans(out, rl, x);
	for (unsigned i = 0; i < x->decision.info.limit_count; i++)
		print_limit(out, x, i, is_whole);
}
