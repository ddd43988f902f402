/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file means, and what becomes of it in a segment. */

#include <dirent.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "at.h"
#include "load/load.h"
#include "same_config.h"
#include "show/show.h"
#include "testing.h"

#define TOLD 4096

struct told {
	size_t count;
	char text[TOLD];
};

static void
hear(enum config_level level, const char *text, void *arg)
{
	struct told *told = arg;
	size_t used = strlen(told->text);

	if (level == CONFIG_DETAIL)
		return;
	told->count++;
	snprintf(told->text + used, sizeof(told->text) - used, "%s\n", text);
}

static struct config *
parse(const char *text, struct told *told)
{
	*told = (struct told){0};
	return config_parse("f", text, strlen(text), hear, told);
}

/* A text that is good, and of which nothing is told. */
static struct config *
need_config(const char *text)
{
	struct told told;
	struct config *config = parse(text, &told);

	assert_string_equal(told.text, "");
	assert_non_null(config);
	return config;
}

/* One limit as the file writes it. */
static struct rl_limit
limit_of(const char *members)
{
	char text[512];
	struct config *config;
	struct rl_limit limit;

	snprintf(text, sizeof(text), "{\"rules\": {\"r\": {%s}}}", members);
	config = need_config(text);
	assert_int_equal(config->rule_count, 1);
	assert_string_equal(config->rules[0].rule.name, "r");
	limit = config->rules[0].rule.limit;
	config_free(config);
	return limit;
}

static void
test_defaults(void **state)
{
	struct config *config = need_config("{}");

	(void)state;
	assert_string_equal(config->path, "f");
	assert_string_equal(config->name, "default");
	assert_int_equal(config->rule_count, 0);
	assert_int_equal(config->gc_interval_ns, 10 * RL_SECOND);
	assert_memory_equal(&config->options, &(struct rl_options){0}, sizeof(config->options));
	assert_null(config->group);
	config_free(config);
	config_free(NULL);
}

static void
test_segment(void **state)
{
	struct config *config = need_config(
		"{\"segment\": {\"name\": \"web\", \"keys\": 1000, \"mode\": \"0660\","
		"\"group\": \"root\", \"key_bytes\": 7, \"ring\": 8, \"rules\": 9,"
		"\"overrides\": 10, \"bans\": 11, \"holders\": 12, \"on_full\": \"allow\","
		"\"huge_pages\": true},"
		"\"gc\": {\"interval\": \"2m\", \"buffer\": \"0.5s\"}}");

	(void)state;
	assert_string_equal(config->name, "web");
	assert_string_equal(config->group, "root");
	assert_int_equal(config->gc_interval_ns, 120 * RL_SECOND);
	assert_int_equal(config->options.keys, 1000);
	assert_int_equal(config->options.mode, 0660);
	assert_int_equal(config->options.group, 0);
	assert_int_equal(config->options.flags, RL_OPEN_GROUP | RL_OPEN_HUGE_PAGES);
	assert_int_equal(config->options.key_bytes, 7);
	assert_int_equal(config->options.ring, 8);
	assert_int_equal(config->options.rules, 9);
	assert_int_equal(config->options.overrides, 10);
	assert_int_equal(config->options.bans, 11);
	assert_int_equal(config->options.holders, 12);
	assert_int_equal(config->options.on_full, RL_FULL_ALLOW);
	assert_int_equal(config->options.buffer_ns, RL_SECOND / 2);
	config_free(config);
}

static void
test_windows(void **state)
{
	static const struct {
		const char *members;
		uint64_t window_ns;
		uint32_t capacity;
	} cases[] = {
		{"\"time_window_sec\": 60, \"capacity\": 100", 60 * RL_SECOND, 100},
		{"\"time_window_sec\": 0.1, \"capacity\": 1", RL_SECOND / 10, 1},
		{"\"time_window_sec\": 34560000, \"capacity\": 268435455", RL_WINDOW_MAX,
	         RL_CAPACITY_MAX},
		{"\"window\": \"10m\", \"capacity\": 7", 600 * RL_SECOND, 7},
		{"\"window\": \"1h30m\", \"capacity\": 7", 5400 * RL_SECOND, 7},
		{"\"window\": \"10ms\", \"capacity\": 7", RL_WINDOW_MIN, 7},
		{"\"limit\": \"100/min\"", 60 * RL_SECOND, 100},
		{"\"limit\": \"100/m\"", 60 * RL_SECOND, 100},
		{"\"limit\": \"5/10s\"", 10 * RL_SECOND, 5},
		{"\"limit\": \"5/1.5s\"", 1500 * RL_MILLISECOND, 5},
		{"\"limit\": \"1/day\"", 86400 * RL_SECOND, 1},
		{"\"limit\": \"1/hour\"", 3600 * RL_SECOND, 1},
		{"\"limit\": \"1/second\"", RL_SECOND, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rl_limit limit = limit_of(cases[i].members);

		assert_int_equal(limit.window_ns, cases[i].window_ns);
		assert_int_equal(limit.capacity, cases[i].capacity);
		assert_int_equal(limit.algorithm, RL_SLIDING_WINDOW);
	}
}

/* What a file that says nothing of sub-buckets gets: as many as people would choose, and hard. */
static void
test_default_granularity(void **state)
{
	static const struct {
		const char *members;
		uint32_t granularity;
		bool is_hard;
	} cases[] = {
		{"\"limit\": \"300/5min\"", 60, true},
		{"\"limit\": \"300/5m\"", 60, true},
		{"\"limit\": \"5/day\"", 60, true},
		{"\"limit\": \"5/day\", \"hard\": true", 60, true},
		{"\"limit\": \"5/day\", \"hard\": false", 60, false},
		{"\"limit\": \"5/s\"", 50, true},
		{"\"limit\": \"5/10s\"", 50, true},
		{"\"limit\": \"5/90s\"", 45, true},
		{"\"limit\": \"5/97s\"", 60, true},
		{"\"limit\": \"5/10ms\"", 50, true},
		{"\"limit\": \"5/day\", \"granularity\": 1", 1, false},
		{"\"limit\": \"5/day\", \"granularity_sec\": 3600", 24, false},
		{"\"limit\": \"5/day\", \"granularity\": \"1h\", \"hard\": true", 24, true},
		{"\"limit\": \"5/day\", \"algorithm\": \"fixed_window\"", 1, false},
		{"\"limit\": \"5/day\", \"algorithm\": \"token_bucket\"", 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rl_limit limit = limit_of(cases[i].members);

		assert_int_equal(limit.granularity, cases[i].granularity);
		assert_int_equal(limit.hard, cases[i].is_hard);
	}
}

/* A file that gives its segment a small ring has what fits in there. */
static void
test_default_granularity_in_a_ring(void **state)
{
	struct config *config = need_config("{\"segment\": {\"ring\": 16},"
	                                    "\"rules\": {\"r\": {\"limit\": \"300/5min\"}}}");

	(void)state;
	assert_int_equal(config->rules[0].rule.limit.granularity, 15);
	config_free(config);
}

/*
 * The ring that nobody has said is as long as the rules need; one that is said stays, if they can
 * be with it.
 */
static void
test_the_ring_that_rules_need(void **state)
{
	static const struct {
		const char *segment, *rule;
		uint32_t ring;
	} cases[] = {
		{"", "\"limit\": \"5/min\", \"algorithm\": \"token_bucket\"", 0},
		{"", "\"limit\": \"5/min\", \"algorithm\": \"fixed_window\"", 0},
		{"", "\"limit\": \"5/min\", \"granularity\": 1", 0},
		{"", "\"limit\": \"5/min\"", 60},
		{"", "\"limit\": \"5/min\", \"granularity\": 7", 7},
		{"",
	         "\"limits\": [{\"limit\": \"5/s\", \"granularity\": 2}, {\"limit\": \"9/min\"}]",
	         60},
		{"", "\"limit\": \"5/min\", \"algorithm\": \"sliding_log\"", 10},
		{"",
	         "\"limit\": \"5/min\", \"algorithm\": \"sliding_log\", \"overrides\": {\"k\": "
	         "{\"capacity\": 70}}",
	         140},
		{"", "\"capacity\": 9, \"algorithm\": \"in_flight\"", 9},
		{"", "\"capacity\": 1000, \"algorithm\": \"in_flight\"", 64},
		{"\"ring\": 64", "\"limit\": \"5/min\", \"algorithm\": \"token_bucket\"", 64},
		{"\"ring\": 8", "\"capacity\": 1000, \"algorithm\": \"in_flight\"", 8},
		{"\"ring\": 16", "\"limit\": \"5/min\"", 16},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;

		snprintf(text, sizeof(text), "{\"segment\": {%s}, \"rules\": {\"r\": {%s}}}",
		         cases[i].segment, cases[i].rule);
		config = need_config(text);
		assert_int_equal(config->options.ring, cases[i].ring);
		assert_int_equal(config_options(config).ring, cases[i].ring ? cases[i].ring : 1);
		assert_int_equal(config_says_ring(config), cases[i].segment[0] != '\0');
		config_free(config);
	}
}

/* A file without rules does not know what programs define: it has room for any window. */
static void
test_the_ring_of_others_rules(void **state)
{
	struct config *config = need_config("{\"segment\": {\"keys\": 100}}");

	(void)state;
	assert_int_equal(config_options(config).ring, 64);
	assert_false(config_says_ring(config));
	config_free(config);
	config = need_config("{\"segment\": {\"ring\": 1}}");
	assert_int_equal(config_options(config).ring, 1);
	config_free(config);
}

#define SCANNED (4 * 3600 * RL_SECOND)

/* What was admitted. */
struct scan {
	unsigned admitted, first; /* the first that is not yet 5 minutes old */
	unsigned most;            /* in any 5 minutes */
	uint64_t at[SCANNED / (RL_SECOND / 20)];
};

static void
admit(struct scan *scan, uint64_t now)
{
	unsigned held;

	scan->at[scan->admitted++] = now;
	while (scan->at[scan->first] + 300 * RL_SECOND <= now)
		scan->first++;
	held = scan->admitted - scan->first;
	if (held > scan->most)
		scan->most = held;
}

/* 20 requests a second for a time of random length up to 4 minutes, and a pause, for 4 hours. */
static void
scan_with(const struct rl_limit *limit, uint64_t seed, struct scan *scan)
{
	const struct rl_rule rule = {.name = "r", .limit = *limit};
	uint64_t now = UINT64_C(1700000000) * RL_SECOND + test_below(&seed, 300 * RL_SECOND);
	uint64_t end = now + SCANNED, pause;
	struct rl *rl = test_private(16);
	int id = rl_define(rl, &rule);

	scan->admitted = scan->first = scan->most = 0;
	for (; now < end; now += test_below(&seed, 240 * RL_SECOND))
		for (pause = now + test_below(&seed, 240 * RL_SECOND); now < pause && now < end;
		     now += RL_SECOND / 20)
			if (at_check(rl, id, "k", 1, 1, now, NULL) == RL_ALLOWED)
				admit(scan, now);
	rl_close(rl);
}

/*
 * "300/5min", and nothing else, is 300 in 5 minutes for a scanner, too; an estimate with as
 * many sub-buckets, which is right on average, admits hardly more in all. Two numbers, which the
 * default once was, are far off.
 */
static void
test_a_scanner_at_the_default(void **state)
{
	const struct rl_limit limit = limit_of("\"limit\": \"300/5min\"");
	struct rl_limit two = limit, many = limit;
	unsigned admitted = 0, estimated = 0;
	static struct scan scan;

	(void)state;
	two.granularity = 1;
	two.hard = false;
	many.hard = false;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		scan_with(&limit, seed, &scan);
		assert_true(scan.most <= 300);
		admitted += scan.admitted;
		scan_with(&two, seed, &scan);
		assert_true(scan.most > 400);
		scan_with(&many, seed, &scan);
		assert_true(scan.most > 315); /* as many sub-buckets alone do not do it */
		estimated += scan.admitted;
	}
	assert_true(admitted >= estimated / 100 * 97);
}

static void
test_shapes(void **state)
{
	struct rl_limit limit;

	(void)state;
	limit = limit_of("\"limit\": \"1/min\", \"granularity\": 6, \"hard\": true,"
	                 "\"mode\": \"shadow\"");
	assert_int_equal(limit.granularity, 6);
	assert_true(limit.hard && limit.shadow);
	assert_int_equal(limit_of("\"limit\": \"1/min\", \"granularity_sec\": 10").granularity, 6);
	assert_int_equal(limit_of("\"limit\": \"1/min\", \"granularity\": \"5s\"").granularity, 12);
	limit = limit_of("\"limit\": \"9/min\", \"algorithm\": \"token_bucket\"");
	assert_int_equal(limit.algorithm, RL_TOKEN_BUCKET);
	assert_int_equal(limit.burst, 9);
	limit = limit_of("\"limit\": \"9/min\", \"algorithm\": \"token_bucket\", \"burst\": 20");
	assert_int_equal(limit.burst, 20);
	limit = limit_of("\"limit\": \"9/min\", \"algorithm\": \"leaky_bucket\", \"burst\": 5,"
	                 "\"undelayed\": 2");
	assert_int_equal(limit.burst, 5);
	assert_int_equal(limit.undelayed, 2);
	limit = limit_of("\"limit\": \"3000/min\", \"granularity\": 3, \"prefetch\": 62");
	assert_int_equal(limit.prefetch, 62);
	assert_int_equal(limit_of("\"limit\": \"9/min\"").prefetch, 0);
	limit = limit_of("\"limit\": \"5/h\", \"algorithm\": \"anchored_window\", "
	                 "\"count_denied\": true");
	assert_int_equal(limit.algorithm, RL_ANCHORED_WINDOW);
	assert_int_equal(limit.window_ns, 3600 * RL_SECOND);
	assert_true(limit.count_denied);
	assert_int_equal(
		limit_of("\"limit\": \"9/min\", \"algorithm\": \"fixed_window\"").algorithm,
		RL_FIXED_WINDOW);
}

/* Each of several limits has what it says, and of the rest what the rule says. */
static void
test_inheritance(void **state)
{
	struct config *config = need_config(
		"{\"rules\": {\"r\": {\"window\": \"1m\", \"granularity\": 6, \"hard\": true,"
		"\"limits\": [{\"capacity\": 5}, {\"limit\": \"9/h\", \"hard\": false},"
		"{\"capacity\": 7, \"granularity\": \"12s\", \"mode\": \"shadow\"}]}}}");
	const struct rl_rule *rule = &config->rules[0].rule;

	(void)state;
	assert_int_equal(config_limit_count(rule), 3);
	assert_int_equal(rule->limit.capacity, 5);
	assert_int_equal(rule->limit.window_ns, 60 * RL_SECOND);
	assert_true(rule->limit.hard && rule->limit.granularity == 6);
	assert_int_equal(rule->more[0].window_ns, 3600 * RL_SECOND);
	assert_true(!rule->more[0].hard && rule->more[0].granularity == 6);
	assert_true(rule->more[1].granularity == 5 && rule->more[1].shadow);
	config_free(config);
}

static void
test_prefixes(void **state)
{
	struct config *config = need_config("{\"rules\": {\"r\": {\"limit\": \"100/min\", "
	                                    "\"prefixes\": [{\"v4\": 32, \"v6\": 64},"
	                                    "{\"v4\": 24, \"capacity\": 500}]}}}");
	const struct rl_rule *rule = &config->rules[0].rule;

	(void)state;
	assert_int_equal(rule->limit.prefix_v4, 32);
	assert_int_equal(rule->limit.prefix_v6, 64);
	assert_int_equal(rule->limit.capacity, 100);
	assert_int_equal(rule->more[0].prefix_v4, 24);
	assert_int_equal(rule->more[0].prefix_v6, 0);
	assert_int_equal(rule->more[0].capacity, 500);
	assert_int_equal(rule->more[0].window_ns, 60 * RL_SECOND);
	config_free(config);
}

static bool
is_pattern(const struct rl_override *override, enum rl_match match, const char *key)
{
	return override->pattern.match == match && override->pattern.key_len == strlen(key) &&
	       memcmp(override->pattern.key, key, strlen(key)) == 0;
}

static void
test_overrides(void **state)
{
	struct config *config = need_config(
		"{\"rules\": {\"r\": {\"limits\": [{\"limit\": \"5/s\"}, {\"limit\": \"50/h\"}],"
		"\"overrides\": {\"a\": {\"capacity\": [null, 60]}, \"user:*\": {\"banned\": true},"
		"\"10.0.0.0/8\": {\"unlimited\": true}, \"e\\u0031\\n\": {\"capacity\": [6]}}}}}");
	const struct rl_override *o = config->rules[0].overrides;

	(void)state;
	assert_int_equal(config->rules[0].override_count, 4);
	assert_true(is_pattern(&o[0], RL_MATCH_KEY, "a"));
	assert_int_equal(o[0].kind, RL_OVERRIDE_CAPACITY);
	assert_int_equal(o[0].capacity[0], 0);
	assert_int_equal(o[0].capacity[1], 60);
	assert_true(is_pattern(&o[1], RL_MATCH_PREFIX, "user:"));
	assert_int_equal(o[1].kind, RL_OVERRIDE_BANNED);
	assert_true(is_pattern(&o[2], RL_MATCH_NETWORK, "10.0.0.0/8"));
	assert_int_equal(o[2].kind, RL_OVERRIDE_UNLIMITED);
	assert_true(is_pattern(&o[3], RL_MATCH_KEY, "e1\n"));
	assert_int_equal(o[3].capacity[0], 6);
	config_free(config);
}

/* One rule with a limit for each window; who is not listed is as good as unlimited. */
static void
test_keys(void **state)
{
	struct config *config = need_config(
		"{\"keys\": {\"user:241531\": {\"time_window_sec\": 1, \"capacity\": 5},"
		"\"user:7\": {\"limit\": \"9/h\"}, \"user:8\": {\"limit\": \"6/s\"},"
		"\"bad\": {\"banned\": true}}}");
	const struct rl_config_rule *rule = config->rules;

	(void)state;
	assert_int_equal(config->rule_count, 1);
	assert_string_equal(rule->rule.name, "keys");
	assert_int_equal(config_limit_count(&rule->rule), 2);
	assert_int_equal(rule->rule.limit.window_ns, RL_SECOND);
	assert_int_equal(rule->rule.limit.capacity, RL_CAPACITY_MAX);
	assert_int_equal(rule->rule.more[0].window_ns, 3600 * RL_SECOND);
	assert_int_equal(rule->rule.more[0].capacity, RL_CAPACITY_MAX);
	assert_int_equal(rule->override_count, 4);
	assert_int_equal(rule->overrides[0].capacity[0], 5);
	assert_int_equal(rule->overrides[0].capacity[1], 0);
	assert_int_equal(rule->overrides[1].capacity[0], 0);
	assert_int_equal(rule->overrides[1].capacity[1], 9);
	assert_int_equal(rule->overrides[2].capacity[0], 6);
	assert_int_equal(rule->overrides[3].kind, RL_OVERRIDE_BANNED);
	config_free(config);
}

/* Where the file says nothing of the segment's size, there is room for what it has. */
static void
test_room(void **state)
{
	static char text[200000];
	size_t used = (size_t)snprintf(text, sizeof(text),
	                               "{\"rules\": {\"r\": {"
	                               "\"algorithm\": \"sliding_log\", \"limit\": \"3000/h\","
	                               "\"overrides\": {\"\\u0061\": {\"capacity\": 4000}");
	struct config *config;

	(void)state;
	for (int i = 1; i < 2000; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         ",\"k%d\": {\"banned\": true}", i);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "}}");
	for (int i = 0; i < 100; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         ",\"r%d\": {\"limit\": \"1/s\"}", i);
	snprintf(text + used, sizeof(text) - used, "}}");
	config = need_config(text);
	assert_int_equal(config->options.ring, 8000);
	assert_int_equal(config->options.overrides, 2000);
	assert_int_equal(config->options.rules, 101);
	config_free(config);
}

static void
refuses(const char *text, const char *message)
{
	struct told told;

	assert_null(parse(text, &told));
	assert_string_equal(told.text, message);
}

static void
test_a_ring_that_is_too_short(void **state)
{
	(void)state;
	refuses("{\"segment\": {\"ring\": 10}, \"rules\": {\"a\": {\"limit\": \"5/s\"},"
	        "\"b\": {\"limit\": \"5/s\", \"granularity\": 12}}}",
	        "f:1:22: /segment/ring: the rules need 12, \"b\" the most (one for each "
	        "sub-bucket, two for each request of a sliding_log); say so, or leave it out\n");
	refuses("{\"segment\": {\"ring\": 1}, \"rules\": {\"a\": {\"algorithm\": \"in_flight\","
	        "\"capacity\": 5}}}",
	        "f:1:22: /segment/ring: the rules need 5, \"a\" the most (one for each "
	        "sub-bucket, two for each request of a sliding_log); say so, or leave it out\n");
}

static void
test_the_overflow_area(void **state)
{
	struct config *config;

	(void)state;
	refuses("{\"segment\": {\"cells\": 100}}",
	        "f:1:23: /segment/cells: expected a power of two, got 100\n");
	refuses("{\"segment\": {\"reserves\": 3, \"on_full\": \"deny\"}}",
	        "f:1:26: /segment/reserves: only with \"on_full\": \"reserve\", which is the "
	        "default\n");
	config = need_config("{\"segment\": {\"cells\": 64, \"events\": 0, \"key_bytes\": 0}}");
	assert_int_equal(config->options.cells, 64);
	assert_int_equal(config->options.events, RL_EVENTS_NONE);
	assert_int_equal(config->options.key_bytes, RL_KEY_BYTES_NONE);
	assert_int_equal(config_options(config).reserves, RL_RESERVES_OF_CELLS);
	config_free(config);
}

/* 30 overrides that change nothing, and 12 rules that deny early. */
static void
test_a_flood_of_one_warning(void **state)
{
	char text[4096] = "{\"segment\": {\"mode\": \"0666\"}, \"rules\": {\"r\": "
			  "{\"limit\": \"5/s\", \"overrides\": {";
	struct config *config;
	struct told told;

	(void)state;
	for (int i = 0; i < 30; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         "%s\"u%d\": {\"capacity\": 5}", i > 0 ? "," : "", i);
	strcat(text, "}}");
	for (int i = 0; i < 12; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         ",\"h%d\": {\"limit\": \"5/h\", \"granularity\": 1, \"hard\": true, "
		         "\"algorithm\": \"sliding_window\"}",
		         i);
	strcat(text, "}}");
	config = parse(text, &told);
	assert_non_null(config);
	assert_int_equal(told.count, 1 + 2 * (10 + 1)); /* the mode; ten of each, and a sum */
	assert_non_null(strstr(told.text,
	                       "and 20 more like these: changes nothing: the rule itself has "
	                       "the same capacity; 'rlctl config check' shows all"));
	assert_non_null(strstr(told.text, "and 2 more like these: may deny up to ... early, with"));
	config_free(config);
}

static void
test_positions(void **state)
{
	(void)state;
	refuses("", "f:1:1: the file is empty; {} is the least that it may say\n");
	refuses("{\n \"é\": 1,\n\t\"gc\": 5}",
	        "f:2:2: /é: unknown field\nf:3:8: /gc: expected an object, got 5\n");
	refuses("{\"é\": 1, \"gc\": 5}",
	        "f:1:2: /é: unknown field\nf:1:16: /gc: expected an object, got 5\n");
	refuses("{\"é\" 1}", "f:1:6: ':' expected near '1'\n");
	refuses("{\"rules\": {\"r\": {\"limits\": [{\"limit\": \"1/s\"}, {\"limit\": \"x\"}]}}}",
	        "f:1:57: /rules/r/limits/1/limit: expected a rate such as \"100/min\" or \"5/10s\","
	        " from 1 to 268435455 per 10ms to 400d, got \"x\"\n");
	refuses("{\"keys\": {\"a\\/b\\\"\": {\"limit\": "
	        "\"01234567890123456789012345678901234567é9\""
	        "}}}",
	        "f:1:31: /keys/a\\~1b\\\"/limit: expected a rate such as \"100/min\" or \"5/10s\","
	        " from 1 to 268435455 per 10ms to 400d, got "
	        "\"01234567890123456789012345678901234567…"
	        "\n");
}

/* A window is told why it cannot be one, wherever it stands. */
static void
test_a_month_is_no_window(void **state)
{
	static const char why[] =
		"a month has no fixed length, so it is no window; use 30d (400d is the longest), "
		"or a counter by key whose lifetime the program sets to end with the month: "
		"rl_counter(3)\n";
	char told[512];

	(void)state;
	snprintf(told, sizeof told, "f:1:27: /rules/r/limit: \"5/month\": %s", why);
	refuses("{\"rules\": {\"r\": {\"limit\": \"5/month\"}}}", told);
	snprintf(told, sizeof told, "f:1:43: /rules/r/window: \"1mo\": %s", why);
	refuses("{\"rules\": {\"r\": {\"capacity\": 5, \"window\": \"1mo\"}}}", told);
	refuses("{\"gc\": {\"buffer\": \"1mo\"}}",
	        "f:1:19: /gc/buffer: \"1mo\" has an unknown unit: use ms, s, m, h or d\n");
}

/* However many there are. */
static void
test_too_many_problems(void **state)
{
	static char text[64000];
	size_t used = (size_t)snprintf(text, sizeof(text), "{\"a\": 1");
	struct told told;

	(void)state;
	for (int i = 1; i < 3000; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",\n\"b%d\": 1", i);
	snprintf(text + used, sizeof(text) - used, "}");
	assert_null(parse(text, &told));
	assert_int_equal(told.count, 1001);
	assert_null(config_load("/nonexistent/rl.json", hear, &told));
	assert_int_equal(told.count, 1002);
}

static void
test_hostile(void **state)
{
	size_t size = 100000;
	char *text = malloc(size + 1);
	struct told told;

	(void)state;
	assert_non_null(text);
	memset(text, '[', size);
	text[size] = '\0';
	assert_null(parse(text, &told));
	assert_non_null(strstr(told.text, "maximum parsing depth"));
	memset(text, '9', size);
	memcpy(text, "{\"gc\":", 6);
	text[size - 1] = '}';
	assert_null(parse(text, &told));
	assert_non_null(strstr(told.text, "too big integer"));
	free(text);
	refuses("{\"gc\": 1e999}", "f:1:12: real number overflow near '1e999'\n");
	refuses("{\"gc\": 9223372036854775807}",
	        "f:1:8: /gc: expected an object, got 9223372036854775807\n");
	assert_null(config_parse("f", "{\0}", 3, hear, &told));
	assert_null(parse("{\"a\\u0000b\": 1}", &told));
	assert_null(parse("\xef\xbb\xbf{}", &told));
	assert_null(parse("{\"\xff\": 1}", &told));
}

/* The full form of a configuration is the same configuration. */
static void
same_again(const char *path)
{
	struct told told = {0};
	struct config *config = config_load(path, hear, &told), *again;
	json_t *full;
	char *text;

	assert_non_null(config);
	full = config_json(config);
	text = json_dumps(full, 0);
	again = need_config(text);
	assert_true(same_config(config, again));
	free(text);
	json_decref(full);
	config_free(config);
	config_free(again);
}

static void
test_show(void **state)
{
	static const char directory[] = "tests/config/good";
	DIR *files = opendir(directory);
	struct dirent *entry;
	int count = 0;

	(void)state;
	assert_non_null(files);
	while ((entry = readdir(files))) {
		char path[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		same_again(path);
		count++;
	}
	closedir(files);
	assert_true(count >= 5);
	same_again("config/rl.json");
}

static void
test_path(void **state)
{
	(void)state;
	unsetenv("RL_CONFIG");
	assert_string_equal(config_path(NULL), "/etc/rl/rl.json");
	setenv("RL_CONFIG", "/tmp/x", 1);
	assert_string_equal(config_path(NULL), "/tmp/x");
	assert_string_equal(config_path("y"), "y");
	setenv("RL_CONFIG", "", 1);
	assert_string_equal(config_path(NULL), "/etc/rl/rl.json");
	unsetenv("RL_CONFIG");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_inheritance),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_a_flood_of_one_warning),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_a_month_is_no_window),
		cmocka_unit_test(test_too_many_problems),
		cmocka_unit_test(test_default_granularity),
		cmocka_unit_test(test_default_granularity_in_a_ring),
		cmocka_unit_test(test_the_ring_that_rules_need),
		cmocka_unit_test(test_the_ring_of_others_rules),
		cmocka_unit_test(test_a_ring_that_is_too_short),
		cmocka_unit_test(test_the_overflow_area),
		cmocka_unit_test(test_a_scanner_at_the_default),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
