/* SPDX-License-Identifier: BSD-2-Clause */
/* replay: feed recorded traffic to the library at its own times, and report the verdicts. */

#include <rl.h>
#include <string.h>

#include "base/command.h"
#include "base/number.h"
#include "base/output.h"
#include "replay/replay_report.h"
#include "replay/replay_run.h"
#include "text/duration.h"
#include "text/names.h"

#define TOP_DEFAULT 10

const struct command_option replay_options[] = {
	{"algorithm", 'a', "ALGORITHM", "default: sliding_window"},
	{"capacity", 'c', "N", "requests admitted in a window"},
	{"burst", 'b', "N",
         "token_bucket: tokens held, default the capacity; leaky_bucket: may wait"},
	{"window", 'w', "D", "length of the window, as in 500ms, 10s, 5m, 1h, 1d"},
	{"granularity", 'g', "D", "length of a sub-bucket; default: the window"},
	{"hard", 0, NULL, "count the oldest sub-bucket in full"},
	{"format", 'f', "auto|common|combined|seconds", "default: auto"},
	{"origin", 'o', "epoch|first", "where windows start from; default: epoch"},
	{"top", 't', "N", "most limited keys to show; default: 10"},
	{0},
};

static bool
read_algorithm(const struct context *context, struct rl_limit *limit)
{
	const char *name = option_value(context, "algorithm");

	if (!name || algorithm_find(name, &limit->algorithm))
		return true;
	complain("--algorithm: unknown algorithm '%s'; see 'rlctl help replay'", name);
	return false;
}

static bool
read_capacity(const struct context *context, struct rl_limit *limit)
{
	const char *text = option_value(context, "capacity");
	uint64_t capacity;

	if (!text) {
		complain("replay: --capacity is missing");
		return false;
	}
	if (!number_need("--capacity", text, 1, RL_CAPACITY_MAX, &capacity))
		return false;
	limit->capacity = (uint32_t)capacity;
	return true;
}

static bool
read_duration(const char *option, const char *text, uint64_t *ns)
{
	const char *wrong = duration_parse(text, ns);

	if (wrong)
		complain("%s: '%s' %s", option, text, wrong);
	return !wrong;
}

static bool
read_window(const struct context *context, struct rl_limit *limit)
{
	const char *text = option_value(context, "window");

	if (!text) {
		complain("replay: --window is missing");
		return false;
	}
	if (!read_duration("--window", text, &limit->window_ns))
		return false;
	if (limit->window_ns >= RL_WINDOW_MIN && limit->window_ns <= RL_WINDOW_MAX)
		return true;
	complain("--window: '%s' is not from %s to %s", text, duration_format(RL_WINDOW_MIN).text,
	         duration_format(RL_WINDOW_MAX).text);
	return false;
}

static bool
check_granularity(const char *text, const struct rl_limit *limit, uint64_t bucket_ns)
{
	uint64_t window_ns = limit->window_ns;

	if (bucket_ns == 0 || bucket_ns > window_ns || window_ns % bucket_ns != 0)
		complain("--granularity: the window is not a whole multiple of '%s'", text);
	else if (window_ns / bucket_ns > RL_GRANULARITY_MAX)
		complain("--granularity: '%s' makes more than %d sub-buckets", text,
		         RL_GRANULARITY_MAX);
	else if (limit->algorithm != RL_SLIDING_WINDOW && bucket_ns != window_ns)
		complain("--granularity: %s has no sub-buckets", algorithm_name(limit->algorithm));
	else
		return true;
	return false;
}

/* Needs the algorithm and the window. */
static bool
read_granularity(const struct context *context, struct rl_limit *limit)
{
	const char *text = option_value(context, "granularity");
	uint64_t bucket_ns = limit->window_ns;

	if (text && (!read_duration("--granularity", text, &bucket_ns) ||
	             !check_granularity(text, limit, bucket_ns)))
		return false;
	limit->granularity = (uint32_t)(limit->window_ns / bucket_ns);
	return true;
}

static bool
read_hard(const struct context *context, struct rl_limit *limit)
{
	limit->hard = option_value(context, "hard") != NULL;
	if (!limit->hard || limit->algorithm == RL_SLIDING_WINDOW)
		return true;
	complain("--hard: only sliding_window can be hard");
	return false;
}

static bool
read_burst(const struct context *context, struct rl_limit *limit)
{
	const char *text = option_value(context, "burst");
	uint64_t least = limit->algorithm == RL_TOKEN_BUCKET ? 1 : 0, burst = 0;

	if (text && limit->algorithm != RL_TOKEN_BUCKET && limit->algorithm != RL_LEAKY_BUCKET) {
		complain("--burst: %s has none", algorithm_name(limit->algorithm));
		return false;
	}
	if (text && !number_need("--burst", text, least, RL_CAPACITY_MAX - 1, &burst))
		return false;
	limit->burst = (uint32_t)burst;
	return true;
}

/* An exact log keeps a time for each request that it admits. */
static bool
check_log(const struct rl_limit *limit)
{
	if (limit->algorithm != RL_SLIDING_LOG || limit->capacity <= RL_LOG_MAX)
		return true;
	complain("--capacity: sliding_log holds up to %d", RL_LOG_MAX);
	return false;
}

static bool
read_limit(const struct context *context, struct rl_limit *limit)
{
	return read_algorithm(context, limit) && read_capacity(context, limit) &&
	       read_window(context, limit) && read_granularity(context, limit) &&
	       read_hard(context, limit) && read_burst(context, limit) && check_log(limit);
}

static bool
read_format(const struct context *context, enum log_format *format)
{
	const char *name = option_value(context, "format");

	if (!name || log_format_find(name, format))
		return true;
	complain("--format: unknown format '%s'; use auto, common, combined or seconds", name);
	return false;
}

static bool
read_origin(const struct context *context, bool *is_from_first)
{
	const char *name = option_value(context, "origin");

	*is_from_first = name && strcmp(name, "first") == 0;
	if (!name || *is_from_first || strcmp(name, "epoch") == 0)
		return true;
	complain("--origin: unknown origin '%s'; use first or epoch", name);
	return false;
}

static bool
read_top(const struct context *context, uint64_t *top)
{
	const char *text = option_value(context, "top");

	*top = TOP_DEFAULT;
	return !text || number_need("--top", text, 0, UINT32_MAX, top);
}

int
run_replay(const struct context *context)
{
	struct replay replay = {0};
	enum log_format format = LOG_AUTO;
	uint64_t top;
	bool is_done;

	if (!read_limit(context, &replay.limit) || !read_format(context, &format) ||
	    !read_origin(context, &replay.is_from_first) || !read_top(context, &top))
		return EXIT_TROUBLE;
	is_done = events_read(&replay.events, context->operands, context->operand_count, format) &&
	          replay_run(&replay);
	if (is_done)
		replay_report(&replay, (size_t)top, option_value(context, "json") != NULL);
	events_free(&replay.events);
	return is_done ? EXIT_YES : EXIT_TROUBLE;
}
