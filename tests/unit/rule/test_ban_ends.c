/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a ban is over: at the first instant at which none stands, whatever overlaps with it. Ends
 * are hours away from the clock by which places of bans are used again.
 */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)

static struct rl *rl;
static int rule;
static uint64_t now_ns;

static void
start(void)
{
	rl = test_private(100);
	rule = test_rule(rl, "r", 5, HOUR, 0, false);
	now_ns = rl_now(rl) / RL_SECOND * RL_SECOND + HOUR;
}

static void
ban(int of, const char *text, uint64_t until_ns)
{
	const struct rl_pattern p = rl_pattern_of(text, strlen(text));

	assert_int_equal(rl_ban(rl, of, &p, until_ns), 0);
}

static void
exempt(int of, const char *text, uint64_t until_ns)
{
	const struct rl_pattern p = rl_pattern_of(text, strlen(text));

	assert_int_equal(rl_allow(rl, of, &p, until_ns), 0);
}

/* What a request is told at `at_ns`. */
static struct rl_result
ask(const char *key, uint64_t at_ns)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), at_ns, &r);
	return r;
}

static bool
is_banned(const char *key, uint64_t at_ns)
{
	struct rl_result r = ask(key, at_ns);

	return r.verdict == RL_DENIED && r.reason == RL_BY_BAN;
}

/* Banned until then, and not at it. */
static void
expect_end(const char *key, uint64_t after_ns)
{
	struct rl_result r = ask(key, now_ns);

	assert_int_equal(r.reason, RL_BY_BAN);
	assert_true(r.retry_after_ns == after_ns && r.reset_after_ns == after_ns);
	if (after_ns == RL_NEVER_NS)
		return;
	assert_true(is_banned(key, now_ns + after_ns - 1));
	assert_false(is_banned(key, now_ns + after_ns));
}

/* Each a minute longer than the one before it: as many as a key can have, of one kind and all. */
static void
test_a_long_chain(void **state)
{
	char key[70], prefix[70], network[32];

	(void)state;
	start();
	memset(key, 'k', 64);
	key[64] = '\0';
	for (int i = 1; i <= 63; i++) {
		snprintf(prefix, sizeof prefix, "%.*s*", 64 - i, key);
		ban(i % 2 ? rule : RL_ANY_RULE, prefix, now_ns + (unsigned)i * MINUTE);
		expect_end(key, (unsigned)i * MINUTE);
	}
	for (unsigned i = 1; i <= 32; i++) {
		snprintf(network, sizeof network, "10.0.0.0/%u", 33 - i);
		ban(rule, network, now_ns + 2 * i * MINUTE);
		ban(RL_ANY_RULE, network, now_ns + (2 * i + 1) * MINUTE);
		expect_end("10.0.0.0", (2 * i + 1) * MINUTE);
	}
	rl_close(rl);
}

static void
test_what_ends_it_early(void **state)
{
	(void)state;
	start();
	ban(rule, "10.0.0.1", now_ns + MINUTE);
	ban(rule, "10.0.0.0/8", now_ns + HOUR);
	expect_end("10.0.0.1", HOUR);
	/* one that is over by then, and one that is not */
	exempt(rule, "10.0.0.0/24", now_ns + MINUTE);
	expect_end("10.0.0.1", HOUR);
	exempt(rule, "10.0.0.0/16", now_ns + MINUTE + RL_MILLISECOND);
	expect_end("10.0.0.1", MINUTE);
	assert_int_equal(ask("10.0.0.1", now_ns + MINUTE).reason, RL_BY_EXEMPTION);
	rl_close(rl);
}

static void
configure(enum rl_override_kind kind)
{
	struct rl_override o = {.pattern = rl_pattern_of("k*", 2), .kind = kind};
	const struct rl_config_rule r = {
		.rule = {.name = "r",
	                 .limit = {.algorithm = RL_FIXED_WINDOW, .capacity = 5, .window_ns = HOUR}},
		.overrides = &o,
		.override_count = 1};

	o.capacity[0] = kind == RL_OVERRIDE_CAPACITY ? 50 : 0;
	assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

/* What the configuration says of a key comes behind all bans, and has no end. */
static void
test_an_override_behind(void **state)
{
	(void)state;
	start();
	configure(RL_OVERRIDE_BANNED);
	assert_true(ask("k", now_ns).retry_after_ns == RL_NEVER_NS);
	ban(rule, "k", now_ns + MINUTE);
	expect_end("k", RL_NEVER_NS);
	assert_true(is_banned("k", now_ns + 1000 * HOUR));
	exempt(rule, "k*", now_ns + HOUR); /* which lets it through first */
	expect_end("k", MINUTE);
	configure(RL_OVERRIDE_UNLIMITED);
	exempt(rule, "k*", now_ns + 1);
	expect_end("k", MINUTE);
	configure(RL_OVERRIDE_CAPACITY);
	expect_end("k", MINUTE);
	rl_close(rl);
}

/* A limit is judged when the bans are over, and tells for itself. */
static void
test_a_limit_behind(void **state)
{
	struct rl_result r;

	(void)state;
	start();
	assert_int_equal(at_check(rl, rule, "k", 1, 5, now_ns, NULL), RL_ALLOWED);
	r = ask("k", now_ns);
	uint64_t limit_ends = now_ns + r.retry_after_ns;
	ban(rule, "k", now_ns + RL_SECOND);
	expect_end("k", RL_SECOND);
	r = ask("k", now_ns + RL_SECOND);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_true(r.retry_after_ns == limit_ends - now_ns - RL_SECOND);
	rl_close(rl);
}

/* Any of them at random: what is told of now is what is told of each instant until then. */
static void
test_any(void **state)
{
	static const char *const patterns[] = {
		"10.1.2.3", "10.1.2.0/24", "10.1.0.0/16", "10.0.0.0/8",  "10.1.2.*",  "10.1*",
		"1*",       "::/0",        "10.1.2.3/32", "10.1.2.0/25", "0.0.0.0/0", "10.*"};
	uint64_t seed = 14;

	(void)state;
	for (int run = 0; run < 2000; run++) {
		uint64_t end = 1;
		start();
		for (int i = 0; i < 10; i++) {
			const char *text = patterns[test_below(&seed, 12)];
			int of = test_below(&seed, 2) ? rule : RL_ANY_RULE;
			uint64_t until = now_ns + (1 + test_below(&seed, 12)) * MINUTE;
			(test_below(&seed, 4) ? ban : exempt)(of, text, until);
		}
		while (end < 20 && is_banned("10.1.2.3", now_ns + end * MINUTE - 1) &&
		       is_banned("10.1.2.3", now_ns + end * MINUTE))
			end++;
		if (is_banned("10.1.2.3", now_ns))
			expect_end("10.1.2.3", end * MINUTE);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_long_chain),
		cmocka_unit_test(test_what_ends_it_early),
		cmocka_unit_test(test_an_override_behind),
		cmocka_unit_test(test_a_limit_behind),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
