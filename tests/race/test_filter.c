/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One stop at each access: of who sets a ban, of who rebuilds the filter, of who decides. After
 * rl_ban() has returned, every decision that begins later is banned, whatever came between.
 */
#include <string.h>

#include "at.h"
#include "rule/ban.h"
#include "rule/filter.h"
#include "rule/handle.h"
#include "rule/override.h"
#include "segment/change.h"
#include "stop.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define ACCESSES_MAX 100000

static struct rl *rl;
static int rule;
static uint64_t now_ns;
static enum rl_verdict verdict;
static uint32_t limit;

static struct rl_pattern
key(const char *text)
{
	return (struct rl_pattern){.match = RL_MATCH_KEY, .key = text, .key_len = strlen(text)};
}

static enum rl_verdict
check(const char *text)
{
	return at_check(rl, rule, text, strlen(text), 1, now_ns, NULL);
}

/* The first may load what the second keeps, and asks the filter by. */
static void
assert_all(const char *text, enum rl_verdict expected)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(check(text), expected);
}

static unsigned limits = 1;
static const struct rl_limit each = {.capacity = 1000000, .window_ns = RL_SECOND},
			     each_more = {.capacity = 1000000, .window_ns = 2 * RL_SECOND};

static void
start(void)
{
	const struct rl_pattern before = key("before");

	assert_int_equal(
		rl_open_private(&(struct rl_options){.keys = 10, .bans = 4, .overrides = 2}, &rl),
		0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit = each,
	                                       .more = &each_more,
	                                       .more_count = limits - 1});
	assert_true(rule >= 0);
	now_ns = rl_now(rl);
	assert_all("before", RL_ALLOWED); /* a key that has its slot is decided by one question */
	assert_int_equal(rl_ban(rl, rule, &before, RL_NEVER_NS), 0);
	assert_all("before", RL_DENIED);
	assert_all("k", RL_ALLOWED);
}

static void
ban_k(void)
{
	const struct rl_pattern p = key("k");

	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
}

static void
rebuild(void)
{
	rl_ban_rebuild(&rl->segment, now_ns);
}

static void
rebuild_twice(void)
{
	rebuild();
	rebuild();
}

/* Whatever was half done is given up, as after a kill. */
static void
sweep(void)
{
	for (int i = 0; i < 2; i++) {
		now_ns += 10 * RL_SECOND;
		assert_true(rl_sweep_at(rl, now_ns) >= 0);
	}
}

static void
sweep_and_rebuild(void)
{
	sweep();
	rebuild();
}

static void
sweep_and_rebuild_twice(void)
{
	sweep();
	rebuild_twice();
}

static void (*const others[])(void) = {rebuild, rebuild_twice, sweep, sweep_and_rebuild,
                                       sweep_and_rebuild_twice};
#define OTHERS (sizeof others / sizeof *others)

static void
test_a_ban_that_stops(void **state)
{
	(void)state;
	for (size_t i = 0; i < OTHERS; i++) {
		bool goes_on = true;
		for (int n = 1; goes_on; n++) {
			assert_true(n < ACCESSES_MAX);
			start();
			goes_on = stop_at(n, ban_k, others[i]);
			assert_all("k", RL_DENIED);
			assert_all("before", RL_DENIED);
			rebuild();
			assert_all("k", RL_DENIED);
			rl_close(rl);
		}
	}
}

/* It holds if it is listed, and else it does not, for who asks the filter, too. */
static void
test_a_ban_that_is_killed(void **state)
{
	const struct rl_pattern p = key("k");
	struct rl_ban_info info;

	(void)state;
	for (int n = 1;; n++) {
		uint64_t version;
		enum rl_verdict expected;

		assert_true(n < ACCESSES_MAX);
		start();
		if (!stop_before(n, ban_k))
			break;
		stop.is_inside = false;
		expected = rl_ban_info(rl, rule, &p, now_ns, &info) ? RL_DENIED : RL_ALLOWED;
		assert_all("k", expected);
		assert_all("before", RL_DENIED);
		sweep();
		assert_true(rl_change_is_quiet(&rl->segment, &version));
		assert_all("k", expected);
		rebuild_twice();
		assert_all("k", expected);
		assert_all("before", RL_DENIED);
		ban_k();
		assert_all("k", RL_DENIED);
		rl_close(rl);
	}
	rl_close(rl);
}

/* A rebuild that stands still anywhere hides nothing, nor when it goes on. */

static void
ban_and_look(void)
{
	assert_all("before", RL_DENIED);
	ban_k();
	assert_all("k", RL_DENIED);
	assert_all("before", RL_DENIED);
}

static void
test_a_rebuild_that_stops(void **state)
{
	(void)state;
	bool goes_on = true;
	for (int n = 1; goes_on; n++) {
		assert_true(n < ACCESSES_MAX);
		start();
		goes_on = stop_at(n, rebuild, ban_and_look);
		if (goes_on)
			assert_all("k", RL_DENIED);
		assert_all("before", RL_DENIED);
		rl_close(rl);
	}
}

/* And if it is killed there, and the next begins anew. */
static void
test_a_rebuild_that_is_killed(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		assert_true(n < ACCESSES_MAX);
		start();
		if (!stop_before(n, rebuild))
			break;
		stop.is_inside = false;
		ban_and_look();
		rebuild();
		assert_all("k", RL_DENIED);
		assert_all("before", RL_DENIED);
		rl_close(rl);
	}
	rl_close(rl);
}

/* A decision that stops while the bank that it asks becomes the other one, and is cleared. */

static void
decide(void)
{
	verdict = check("before");
}

/* Stops the second rebuild in its middle, when all is cleared and nothing set. */
static void
clear_under_it(void)
{
	rebuild();
	rl_filter_clear(&rl->segment.ban_filter, (*rl->segment.ban_epoch + 1) & 1);
}

static void
test_a_decision_that_stops(void **state)
{
	(void)state;
	for (limits = 2; limits > 0; limits--) {
		bool goes_on = true;
		for (int n = 1; goes_on; n++) {
			assert_true(n < ACCESSES_MAX);
			start();
			goes_on = stop_at(n, decide, clear_under_it);
			assert_int_equal(verdict, RL_DENIED);
			rl_close(rl);
		}
	}
	limits = 1;
}

/*
 * The same beside a configuration that is replaced twice: the second writes the bank that is asked.
 */

static void
configure(uint32_t capacity)
{
	const struct rl_override o = {.pattern = rl_pattern_of("own", 3), .capacity = {capacity}};
	struct rl_config_rule config = test_config_rule("r", 1000 + capacity, RL_SECOND);

	config.overrides = &o;
	config.override_count = 1;
	assert_int_equal(rl_configure(rl, &config, 1, 0, NULL, NULL), 0);
}

static uint64_t cost; /* 0 is a peek, which is decided in another place */

static void
ask_own(void)
{
	struct rl_result r;

	at_check(rl, rule, "own", 3, cost, T0, &r);
	limit = r.limit;
}

static void
configure_again(void)
{
	configure(12);
}

/* Stands in its middle: what was there is cleared, and nothing written yet. */
static void
begin_to_configure_again(void)
{
	configure(12);
	rl_override_clear(&rl->segment, 1);
}

static void
test_a_decision_beside_a_configuration(void **state)
{
	static void (*const changes[])(void) = {configure_again, begin_to_configure_again};

	(void)state;
	for (int i = 0; i < 4; i++) {
		bool goes_on = true;
		cost = i < 2 ? 0 : 1;
		for (int n = 1; goes_on; n++) {
			assert_true(n < ACCESSES_MAX);
			start();
			configure(11);
			for (int j = 0; j < 3; j++)
				ask_own();
			assert_int_equal(limit, 11);
			goes_on = stop_at(n, ask_own, changes[i % 2]);
			assert_true(limit == 11 || (goes_on && limit == 12));
			rl_close(rl);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_ban_that_stops),
		cmocka_unit_test(test_a_ban_that_is_killed),
		cmocka_unit_test(test_a_rebuild_that_stops),
		cmocka_unit_test(test_a_rebuild_that_is_killed),
		cmocka_unit_test(test_a_decision_that_stops),
		cmocka_unit_test(test_a_decision_beside_a_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
