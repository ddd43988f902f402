/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A key goes to and fro between its overflow counter and a slot while others charge it: chosen
 * schedules of the real code, with kills, time that passes at each hand-over, and clocks that lag
 * behind. An independent log of what was admitted says whether some window ever held more than the
 * limit.
 */
#include <stdlib.h>
#include <string.h>

#define STEPS 1200

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "schedule.h"

#define SLOTS 16
#define T0 \
	(UINT64_C(4000000000) * RL_SECOND) /* after the machine's clock, which rl_reset() takes */
#define WINDOW (8 * RL_SECOND)
#define CAPACITY 3
#define KEY 7

enum {
	OURS,
	PUSHING, /* its keys make ours give way */
	FILLING,
	RULES
};

static struct rl *rl;
static int rules[RULES];
static uint64_t start_ns;

/* What was admitted of the key, in this run. */
static struct {
	uint64_t began_ns[64], ended_ns[64];
	uint32_t cost[64];
	int count;
	uint64_t reserved; /* by the overflow counter */
} done;

static enum rl_verdict
ask(int rule, uint32_t key, uint64_t cost, uint64_t now_ns, struct rl_result *r)
{
	return at_check(rl, rules[rule], &key, sizeof key, cost, now_ns, r);
}

static void
open_full(const struct rl_limit *limit)
{
	const struct rl_options o = {
		.keys = 1, .cells = 1, .reserves = 3, .ring = 8, .buffer_ns = WINDOW};
	static const char *const names[] = {"ours", "pushing", "filling"};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	for (int i = 0; i < RULES; i++) {
		rules[i] = rl_define(rl, &(struct rl_rule){.name = names[i], .limit = *limit});
		assert_true(rules[i] >= 0);
	}
}

/*
 * Half of the slots are used by keys of our rule that are at their limit: so a new one finds none.
 */
static void
begin(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(&done, 0, sizeof done);
	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	for (int i = 0; i < RULES; i++)
		s->limits[i].overflow_set = 0;
	start_ns = T0 + test_below(&seed, 2 * WINDOW);
	for (uint32_t key = 100; key < 100 + SLOTS; key++)
		assert_int_equal(ask(key % 2 ? FILLING : OURS, key, CAPACITY, start_ns, NULL),
		                 RL_ALLOWED);
}

static uint64_t
our_clock(void)
{
	uint64_t now = start_ns + passed_ns;

	return test_below(&seed, 4) == 0 ? now - test_below(&seed, WINDOW) : now;
}

static void
ask_ours(void)
{
	uint64_t now = our_clock();
	uint32_t cost = test_below(&seed, 4) == 0 ? 2 : 1;
	struct rl_result r;

	if (ask(OURS, KEY, cost, now, &r) != RL_ALLOWED)
		return;
	done.reserved += r.reason == RL_BY_RESERVE;
	done.began_ns[done.count] = now;
	done.ended_ns[done.count] = start_ns + passed_ns;
	done.cost[done.count++] = cost;
}

/* One slot of a filler is free. */
static void
free_one(void)
{
	const struct rl_table *t = &rl->segment.table;

	for (uint64_t i = 0; i < SLOTS; i++) {
		struct rl_slot slot = {.index = i, .tag = rl_atomic_load(rl_table_tag(t, i))};
		struct rl_u128 state;

		if (rl_tag_status(slot.tag) != RL_TAG_LIVE ||
		    rl_handle_limit(rl, rl_tag_limit(slot.tag))->rule != FILLING ||
		    !rl_atomic_load16(rl_table_state(t, i), &state) ||
		    rl_atomic_load(rl_table_tag(t, i)) != slot.tag)
			continue;
		if (rl_table_retire(t, slot, state))
			return;
	}
}

static void
work(int worker)
{
	(void)worker;
	for (int i = 0; i < 3; i++) {
		uint32_t filler = 100 + 2 * (uint32_t)test_below(&seed, SLOTS / 2);

		switch (test_below(&seed, 7)) {
		case 2:
			rl_reset(rl, rules[OURS], &filler, sizeof filler);
			break;
		case 0:
			free_one();
			break;
		case 1:
			ask(PUSHING, (uint32_t)test_below(&seed, 30), 1, start_ns + passed_ns,
			    NULL);
			break;
		default:
			ask_ours();
			break;
		}
	}
}

/*
 * A request counts at some time between its own clock and its return. So those that began at `from`
 * or later and were over by `to` all counted in between.
 */
static uint64_t
counted_between(uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (int i = 0; i < done.count; i++)
		sum += done.began_ns[i] >= from && done.ended_ns[i] <= to ? done.cost[i] : 0;
	return sum;
}

/* Of a span that is no longer than a window. */
static uint64_t
most_between(const struct rl_limit *limit, uint64_t from, uint64_t to)
{
	uint64_t most = limit->capacity;

	if (limit->algorithm == RL_FIXED_WINDOW && to / WINDOW > from / WINDOW)
		return 2 * most;
	if (limit->algorithm == RL_TOKEN_BUCKET)
		most += (to - from) * limit->capacity / WINDOW;
	return most;
}

static bool
is_over(const struct rl_limit *limit)
{
	for (int i = 0; i < done.count; i++) {
		for (int j = 0; j < done.count; j++) {
			uint64_t from = done.began_ns[i], to = done.ended_ns[j];
			if (to >= from && to - from < WINDOW &&
			    counted_between(from, to) > most_between(limit, from, to))
				return true;
		}
	}
	return false;
}

static void
judge(const struct rl_limit *limit, uint64_t run)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("run %llu: %s", (unsigned long long)run, a.fault);
	if (is_over(limit))
		fail_msg("run %llu: too much was admitted", (unsigned long long)run);
}

static void
play(uint64_t rounds, bool with_kills, uint64_t pause)
{
	static const struct rl_limit shapes[] = {
		{.algorithm = RL_SLIDING_WINDOW,
	         .capacity = CAPACITY,
	         .window_ns = WINDOW,
	         .granularity = 4,
	         .hard = 1},
		{.algorithm = RL_SLIDING_WINDOW,
	         .capacity = CAPACITY,
	         .window_ns = WINDOW,
	         .granularity = 1,
	         .hard = 1},
		{.algorithm = RL_FIXED_WINDOW, .capacity = CAPACITY, .window_ns = WINDOW},
		{.algorithm = RL_SLIDING_LOG, .capacity = CAPACITY, .window_ns = WINDOW},
		{.algorithm = RL_TOKEN_BUCKET, .capacity = CAPACITY, .window_ns = WINDOW},
	};
	uint64_t reserved = 0, folded = 0;

	kills = with_kills;
	pause_ns = pause;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		open_full(&shapes[i]);
		for (uint64_t run = 0; run < rounds; run++) {
			seed = run * 7 + i;
			begin();
			run_schedule(work);
			judge(&shapes[i], run);
			reserved += done.reserved;
		}
		folded += test_counter(rl, rules[OURS], RL_COUNT_folded);
		rl_close(rl);
	}
	assert_true(reserved > rounds / 8 && folded > rounds / 8);
}

static void
test_time_stands(void **state)
{
	(void)state;
	play(test_scaled(32000), false, 0);
}

static void
test_killed(void **state)
{
	(void)state;
	play(test_scaled(8000), true, 0);
}

static void
test_time_passes(void **state)
{
	(void)state;
	play(test_scaled(8000), false, WINDOW / 3);
}

static void
test_time_passes_and_they_are_killed(void **state)
{
	(void)state;
	play(test_scaled(8000), true, WINDOW / 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_stands),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_time_passes),
		cmocka_unit_test(test_time_passes_and_they_are_killed),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
