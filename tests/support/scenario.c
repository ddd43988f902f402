/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"
#include "at.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shared/atomic.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define CHURN_CAPACITY 100000000

/* Wait until every worker has come to its `turn`th line-up; turns count from 1. */
static void
line_up(struct scenario_run *run, int turn)
{
	rl_atomic_add(&run->arrived, 1);
	while (rl_atomic_load(&run->arrived) < (uint64_t)(turn * run->workers))
		sched_yield();
}

static uint64_t
sum(const uint64_t counts[SCENARIO_KEYS])
{
	uint64_t total = 0;

	for (int k = 0; k < SCENARIO_KEYS; k++)
		total += counts[k];
	return total;
}

static uint32_t
used_now(const struct scenario_run *run, struct rl *rl, const void *key, size_t len)
{
	struct rl_result r;

	at_peek(rl, run->rule, key, len, T0, &r);
	return r.limit - r.remaining;
}

/* All spend one key until it is denied: exactly capacity is admitted, each round anew. */
static int
work_hot(struct scenario_run *run, struct rl *rl, int worker)
{
	(void)worker;
	for (int key = 0; key < run->rounds; key++) {
		struct rl_result r;
		line_up(run, key + 1);
		while (at_check(rl, run->rule, &key, sizeof key, 1, T0, &r) == RL_ALLOWED)
			rl_atomic_add(&run->allowed[0], 1);
		if (r.verdict != RL_DENIED)
			return 1;
	}
	return 0;
}

static void
audit_hot(const struct scenario_run *run, struct rl *rl)
{
	assert_int_equal(run->allowed[0], 100 * (uint64_t)run->rounds);
	assert_int_equal(rl_fill(rl), run->rounds);
}

#define PREFETCH_CAPACITY 1000

/* The same with units that are prefetched and given back: never more, and nothing is left over. */
static int
work_prefetch(struct scenario_run *run, struct rl *rl, int worker)
{
	uint64_t seed = (uint64_t)worker + 1;

	for (int key = 0; key < run->rounds; key++) {
		line_up(run, key + 1);
		while (at_check(rl, run->rule, &key, sizeof key, 1, T0, NULL) == RL_ALLOWED) {
			rl_atomic_add(&run->allowed[0], 1);
			if (test_below(&seed, 50) == 0)
				rl_prefetch_return(rl);
		}
		if (rl_prefetch_return(rl) < 0)
			return 1;
	}
	return 0;
}

static void
audit_prefetch(const struct scenario_run *run, struct rl *rl)
{
	uint64_t all = 0;

	for (int key = 0; key < run->rounds; key++) {
		uint32_t used = used_now(run, rl, &key, sizeof key);
		assert_true(used <= PREFETCH_CAPACITY);
		all += used;
	}
	assert_int_equal(run->allowed[0], all);
	assert_int_equal(run->allowed[0], test_counter(rl, run->rule, RL_COUNT_allowed));
}

/* All insert the same new key at the same time: one slot, one admission. */
static int
work_insert(struct scenario_run *run, struct rl *rl, int worker)
{
	(void)worker;
	for (int key = 0; key < run->rounds; key++) {
		if (key % 16 == 0)
			line_up(run, key / 16 + 1);
		switch (at_check(rl, run->rule, &key, sizeof key, 1, T0, NULL)) {
		case RL_ALLOWED:
			rl_atomic_add(&run->allowed[key % SCENARIO_KEYS], 1);
			break;
		case RL_DENIED:
			break;
		default:
			return 1;
		}
	}
	return 0;
}

static void
audit_insert(const struct scenario_run *run, struct rl *rl)
{
	uint64_t keys = (uint64_t)run->rounds;

	assert_int_equal(sum(run->allowed), keys);
	assert_int_equal(rl_fill(rl), keys);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_inserted), keys);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_allowed), keys);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_denied),
	                 keys * (uint64_t)(run->workers - 1));
}

/*
 * Keys come, are charged once and forgotten again, in too few slots for all of them. A slot
 * goes through 256 incarnations in a tenth of a second here, and a worker may well sleep as
 * long: costs differ, as times do elsewhere, so that an old state word does not come back.
 */
static int
work_churn(struct scenario_run *run, struct rl *rl, int worker)
{
	uint64_t seed = (uint64_t)worker + 1;

	line_up(run, 1);
	for (int i = 0; i < run->rounds; i++) {
		int key = (int)test_below(&seed, SCENARIO_KEYS);
		if (test_below(&seed, 3) > 0) {
			uint64_t cost =
				CHURN_CAPACITY / 2 + 1 + test_below(&seed, CHURN_CAPACITY / 2);
			if (at_check(rl, run->rule, &key, sizeof key, cost, T0, NULL) == RL_ALLOWED)
				rl_atomic_add(&run->allowed[key], 1);
		} else if (rl_reset(rl, run->rule, &key, sizeof key) == 1) {
			rl_atomic_add(&run->undone[key], 1);
		}
	}
	return 0;
}

/* A limit holds one of those charges: every admission was forgotten, or still is there. */
static void
audit_churn(const struct scenario_run *run, struct rl *rl)
{
	uint64_t live = 0;

	for (int key = 0; key < SCENARIO_KEYS; key++) {
		uint32_t is_used = used_now(run, rl, &key, sizeof key) > 0;
		live += is_used;
		assert_int_equal(run->allowed[key], run->undone[key] + is_used);
	}
	assert_true(sum(run->undone) > 0);
	assert_true(rl_fill(rl) >= live); /* and slots claimed but not charged */
}

/* Charges and refunds of few keys: what is left is what was not given back. */
static int
work_refund(struct scenario_run *run, struct rl *rl, int worker)
{
	uint64_t seed = (uint64_t)worker + 1;

	line_up(run, 1);
	for (int i = 0; i < run->rounds; i++) {
		int key = (int)test_below(&seed, 2);
		struct rl_charges charges;
		struct rl_result r;
		if (test_check_at(rl, run->rule, &key, sizeof key, 1, T0, &r, &charges) !=
		    RL_ALLOWED)
			continue;
		rl_atomic_add(&run->allowed[key], 1);
		if (test_below(&seed, 100) < 97 && rl_refund(rl, &charges) == 1)
			rl_atomic_add(&run->undone[key], 1);
	}
	return 0;
}

static void
audit_refund(const struct scenario_run *run, struct rl *rl)
{
	for (int key = 0; key < 2; key++)
		assert_int_equal(run->allowed[key] - run->undone[key],
		                 used_now(run, rl, &key, sizeof key));
	assert_true(sum(run->undone) > 0);
}

/*
 * One key while a shared clock moves on, each worker reading it late by up to three
 * sub-buckets. An admission counts from its clock reading, or from the start of the
 * sub-bucket it was charged to if others had brought the key that far.
 */
static int
work_roll(struct scenario_run *run, struct rl *rl, int worker)
{
	const uint64_t width = RL_SECOND;
	uint64_t seed = (uint64_t)worker + 1;

	line_up(run, 1);
	for (int i = 0; i < run->rounds; i++) {
		struct rl_charges charges;
		struct rl_result r;
		if (test_below(&seed, 4) == 0)
			rl_atomic_add(&run->clock_ns, test_below(&seed, width / 2));
		if (test_below(&seed, 400) == 0)
			rl_atomic_add(&run->clock_ns, test_below(&seed, 9 * width));
		uint64_t now = T0 + rl_atomic_load(&run->clock_ns);
		if (test_below(&seed, 5) == 0)
			now -= test_below(&seed, 3 * width);
		if (test_check_at(rl, run->rule, "k", 1, 1, now, &r, &charges) != RL_ALLOWED)
			continue;
		uint64_t epoch = charges.charge[0].epoch;
		if (test_below(&seed, 10) == 0 && rl_refund(rl, &charges) == 1)
			continue;
		if (run->logged[worker] == SCENARIO_LOG)
			break;
		run->log[worker][run->logged[worker]++] = (struct scenario_charge){
			.effective_ns = now > epoch * width ? now : epoch * width, .epoch = epoch};
	}
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct scenario_charge *x = a, *y = b;

	return x->effective_ns < y->effective_ns ? -1 : x->effective_ns > y->effective_ns;
}

/* `hard`: no span of one window holds more than capacity, wherever it starts. */
static void
audit_roll(const struct scenario_run *run, struct rl *rl)
{
	enum {
		CAPACITY = 20,
		PARTS = 5
	};
	size_t count = 0;

	(void)rl;
	for (int w = 0; w < run->workers; w++)
		count += run->logged[w];
	struct scenario_charge *all = calloc(count + 1, sizeof *all);
	assert_non_null(all);
	count = 0;
	for (int w = 0; w < run->workers; w++) {
		memcpy(all + count, run->log[w], run->logged[w] * sizeof *all);
		count += run->logged[w];
	}
	qsort(all, count, sizeof *all, by_time);
	assert_true(count > CAPACITY);
	for (size_t i = CAPACITY; i < count; i++) {
		assert_true(all[i].effective_ns - all[i - CAPACITY].effective_ns >=
		            PARTS * RL_SECOND);
		assert_true(all[i].epoch > all[i - CAPACITY].epoch + PARTS);
	}
	free(all);
}

/* Every round has its own 16 keys, and the 16 slots are full of the last round's, now stale. */
static int
work_expire(struct scenario_run *run, struct rl *rl, int worker)
{
	uint64_t seed = (uint64_t)worker + 1;

	for (int round = 0; round < run->rounds; round++) {
		uint64_t now = T0 + (uint64_t)round * 100 * RL_SECOND;
		line_up(run, 2 * round + 1);
		if (worker == 0 && round % 2 == 0)
			rl_sweep_at(rl, now);
		for (uint64_t i = 0, first = test_below(&seed, 16); i < 16; i++) {
			uint64_t key[2] = {(first + i) % 16, (uint64_t)round};
			switch (at_check(rl, run->rule, key, sizeof key, 1, now, NULL)) {
			case RL_ALLOWED:
				rl_atomic_add(&run->allowed[key[0]], 1);
				break;
			case RL_DENIED:
				break;
			default:
				return 1;
			}
		}
		line_up(run, 2 * round + 2);
	}
	return 0;
}

static void
audit_expire(const struct scenario_run *run, struct rl *rl)
{
	for (int k = 0; k < 16; k++)
		assert_int_equal(run->allowed[k], run->rounds);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_full_denied), 0);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_retired), 16 * (run->rounds - 1));
}

#define HOUR (3600 * RL_SECOND)

const struct scenario scenarios[] = {
	{
		.name = "hot key",
		.options = {.keys = 4000, .ring = 4},
		.rule = {.limit.capacity = 100,
                         .limit.window_ns = HOUR,
                         .limit.granularity = 4,
                         .limit.hard = 1},
		.rounds = 1000,
		.work = work_hot,
		.audit = audit_hot,
	},
	{
		.name = "prefetched",
		.options = {.keys = 4000, .ring = 4},
		.rule = {.limit.capacity = PREFETCH_CAPACITY,
                         .limit.window_ns = HOUR,
                         .limit.granularity = 4,
                         .limit.hard = 1,
                         .limit.prefetch = 8},
		.rounds = 300,
		.work = work_prefetch,
		.audit = audit_prefetch,
	},
	{
		.name = "insert",
		.options = {.keys = 200000, .ring = 4},
		.rule = {.limit.capacity = 1, .limit.window_ns = HOUR, .limit.granularity = 1},
		.rounds = 60000,
		.work = work_insert,
		.audit = audit_insert,
	},
	{
		.name = "churn",
		.options = {.keys = 24, .ring = 4, .on_full = RL_FULL_DENY},
		.rule = {.limit.capacity = CHURN_CAPACITY,
                         .limit.window_ns = HOUR,
                         .limit.granularity = 4},
		.rounds = 100000,
		.work = work_churn,
		.audit = audit_churn,
	},
	{
		.name = "refund",
		.options = {.keys = 30, .ring = 4},
		.rule = {.limit.capacity = 100000, .limit.window_ns = HOUR, .limit.granularity = 4},
		.rounds = 100000,
		.work = work_refund,
		.audit = audit_refund,
	},
	{
		.name = "roll",
		.options = {.keys = 30, .ring = 5},
		.rule = {.limit.capacity = 20,
                         .limit.window_ns = 5 * RL_SECOND,
                         .limit.granularity = 5,
                         .limit.hard = 1},
		.rounds = 100000,
		.work = work_roll,
		.audit = audit_roll,
	},
	{
		.name = "expire",
		.options = {.keys = 12, .ring = 1, .on_full = RL_FULL_DENY},
		.rule = {.limit.capacity = 1,
                         .limit.window_ns = 10 * RL_SECOND,
                         .limit.granularity = 1,
                         .limit.hard = 1},
		.rounds = 3000,
		.work = work_expire,
		.audit = audit_expire,
	},
};
const int scenario_count = sizeof scenarios / sizeof scenarios[0];

void
scenario_play(const struct scenario *s, struct scenario_run *run,
              void (*launch)(const struct scenario *s, struct scenario_run *run, struct rl *rl))
{
	struct rl_rule rule = s->rule;
	struct rl *rl;

	rule.name = "r";
	*run = (struct scenario_run){.workers = SCENARIO_WORKERS,
	                             .rounds = (int)test_scaled((uint64_t)s->rounds)};
	assert_int_equal(rl_open(test_segment_name(), &s->options, &rl), 0);
	run->rule = rl_define(rl, &rule);
	assert_true(run->rule >= 0);
	launch(s, run, rl);
	s->audit(run, rl);
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}
