/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fill SEGMENT RULE CAPACITY WINDOW_MS KIND KEY=COUNT[@SECONDS]...
 *
 * Ask COUNT times for each KEY, SECONDS from now or, if negative, before, so that rlctl has
 * something to show. KIND is counter for a space of counters, whose lifetime WINDOW_MS is, with
 * COUNT in each; or how many sub-buckets, 0 for a fixed window, or log, token or leaky; behind it
 * may stand "h" for hard, "s" for a shadow, and "/24" or "/24/64" for prefixes. CAPACITY, WINDOW_MS
 * and KIND may each be a list with commas: one limit for each. The segment is small, and its keys
 * are soon stale; FILL_KEYS, FILL_KEY_BYTES, FILL_BANS, FILL_RING and FILL_MODE say otherwise, and
 * FILL_HUGE_PAGES=1 asks for huge pages; FILL_CELLS and FILL_RESERVES say how many overflow
 * counters a limit has, and how many limits have any; FILL_CLUSTER=1 that they are of a cluster,
 * each host by itself. Requests have the tier FILL_TIER, if there is one. Exits 0 if every request
 * was decided.
 *
 * fill --sweeper SEGMENT SECONDS
 *
 * Play a sweeper that was last heard of SECONDS ago: say so and wait to be killed; with 0 say
 * so now, and die.
 */

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at.h"

static int
fail(const char *what, int error)
{
	fprintf(stderr, "fill: %s: %s: %s\n", what, rl_strerror(error), rl_error_remedy(error));
	return -1;
}

static uint32_t
number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static uint32_t
setting(const char *name, uint32_t value, int base)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, base) : value;
}

static void
read_kind(const char *kind, struct rl_limit *limit)
{
	const char *slash = strchr(kind, '/'), *second = slash ? strchr(slash + 1, '/') : NULL;
	size_t len = slash ? (size_t)(slash - kind) : strlen(kind);

	limit->granularity = number(kind);
	if (strncmp(kind, "log", 3) == 0)
		limit->algorithm = RL_SLIDING_LOG;
	else if (strncmp(kind, "token", 5) == 0)
		limit->algorithm = RL_TOKEN_BUCKET;
	else if (strncmp(kind, "leaky", 5) == 0)
		limit->algorithm = RL_LEAKY_BUCKET;
	else if (limit->granularity == 0)
		limit->algorithm = RL_FIXED_WINDOW;
	limit->scope = (uint16_t)setting("FILL_CLUSTER", RL_SCOPE_HOST, 10);
	limit->away = limit->scope == RL_SCOPE_CLUSTER ? RL_AWAY_OPEN : 0;
	if (limit->algorithm == RL_LEAKY_BUCKET)
		limit->burst = limit->capacity;
	limit->hard = len > 1 && kind[len - 1] == 'h';
	limit->shadow = len > 1 && kind[len - 1] == 's';
	limit->prefix_v4 = slash ? (uint8_t)number(slash + 1) : 0;
	limit->prefix_v6 = second ? (uint8_t)number(second + 1) : 0;
}

/* The next item of a list with commas; the last stays. */
static char *
next(char **list)
{
	char *comma = strchr(*list, ','), *item = *list;

	if (comma) {
		*comma = '\0';
		*list = comma + 1;
	}
	return item;
}

static int
define(struct rl *rl, char **args)
{
	struct rl_limit limits[RL_LIMITS_MAX] = {0};
	struct rl_rule rule = {.name = args[0], .more = limits + 1};
	size_t count = 0;
	int is_last;

	do {
		is_last = !strchr(args[3], ',');
		limits[count].capacity = number(next(&args[1]));
		limits[count].window_ns = number(next(&args[2])) * RL_MILLISECOND;
		read_kind(next(&args[3]), &limits[count++]);
	} while (!is_last && count < RL_LIMITS_MAX);
	rule.limit = limits[0];
	rule.more_count = count - 1;
	return rl_define(rl, &rule);
}

static int
ask(struct rl *rl, int rule, const char *pair)
{
	const char *split = strrchr(pair, '='), *at = split ? strchr(split, '@') : NULL;
	uint64_t now_ns = rl_now(rl) + (uint64_t)(at ? strtoll(at + 1, NULL, 10) : 0) * RL_SECOND;
	struct rl_item item = {
		.rule = rule, .key = pair, .cost = 1, .capacity = setting("FILL_TIER", 0, 10)};
	struct rl_result result;

	if (!split)
		return fail(pair, -EINVAL);
	item.key_len = (size_t)(split - pair);
	for (uint32_t n = number(split + 1); n > 0; n--)
		if (at_check_item(rl, &item, now_ns, &result) == RL_UNDECIDED)
			return fail(pair, result.error);
	return 0;
}

static int
fill_counters(struct rl *rl, int count, char **args)
{
	int space = rl_define_counters(rl, args[0]);

	if (space < 0)
		return fail(args[0], space);
	for (int i = 4; i < count; i++) {
		const char *split = strrchr(args[i], '=');
		uint64_t lifetime = number(args[2]) * RL_MILLISECOND;
		int done = at_counter_add(rl, space, args[i], (size_t)(split - args[i]),
		                          strtoll(split + 1, NULL, 10),
		                          lifetime > 0 ? lifetime : RL_NEVER_NS, rl_now(rl), NULL);
		if (done != 1)
			return fail(args[i], done);
	}
	return 0;
}

static int
fill(struct rl *rl, int count, char **args)
{
	int rule;

	if (strcmp(args[3], "counter") == 0)
		return fill_counters(rl, count, args);
	rule = define(rl, args);
	if (rule < 0)
		return fail(args[0], rule);
	for (int i = 4; i < count; i++)
		if (ask(rl, rule, args[i]) < 0)
			return -1;
	return 0;
}

/* 0: none. */
static uint32_t
key_bytes(void)
{
	uint32_t bytes = setting("FILL_KEY_BYTES", 48, 10);

	return bytes > 0 ? bytes : RL_KEY_BYTES_NONE;
}

static int
play_sweeper(const char *name, uint64_t age)
{
	struct rl *rl;
	int error = rl_open(name, NULL, &rl);

	if (error == 0)
		error = rl_heartbeat_at(rl, rl_now(rl) - age * RL_SECOND);
	if (error < 0) {
		fail(name, error);
		return 2;
	}
	if (age > 0)
		pause();
	return 0;
}

int
main(int argc, char **argv)
{
	struct rl_options options = {
		.keys = setting("FILL_KEYS", 256, 10),
		.rules = 8,
		.ring = setting("FILL_RING", 128, 10),
		.key_bytes = key_bytes(),
		.bans = setting("FILL_BANS", 16, 10),
		.mode = setting("FILL_MODE", 0600, 8),
		.buffer_ns = 200 * RL_MILLISECOND,
		.cells = setting("FILL_CELLS", 0, 10),
		.reserves = setting("FILL_RESERVES", 0, 10),
		.flags = (setting("FILL_HUGE_PAGES", 0, 10) ? RL_OPEN_HUGE_PAGES : 0) |
	                 (setting("FILL_CLUSTER", 0, 10) ? RL_OPEN_CLUSTER : 0),
	};
	struct rl *rl;
	int error;

	if (argc == 4 && strcmp(argv[1], "--sweeper") == 0)
		return play_sweeper(argv[2], number(argv[3]));
	if (argc < 6) {
		fprintf(stderr, "usage: fill SEGMENT RULE CAPACITY WINDOW_MS KIND "
		                "KEY=COUNT[@SECONDS]...\n");
		return 2;
	}
	error = rl_open(argv[1], &options, &rl);
	if (error == 0) {
		error = fill(rl, argc - 2, argv + 2);
		rl_close(rl);
	} else {
		fail(argv[1], error);
	}
	return error == 0 ? 0 : 2;
}
