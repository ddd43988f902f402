/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buckets whose charges are settled. Random histories are replayed as they came to be: each request
 * with what it cost in the end, at its own time, and each debt when it was settled. A bucket that
 * began full, in whole ticks, is then never below zero after an admission.
 */
#include <stdlib.h>

#include "algorithm/gcra.h"
#include "algorithm/ops.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define STEPS 40
#define OPEN 16

/* In ticks of 1 / capacity ns, of which a token takes window_ns. */
struct event {
	uint64_t now_ns;
	rl_wide cost;
	bool is_debt;
};

struct story {
	struct rl_limiter limiter;
	struct rl_quota quota;
	struct rl_u128 word;
	bool is_zero;
	uint64_t fill_ns; /* how long an empty one fills */
	uint64_t now_ns;
	struct event event[STEPS];
	struct {
		struct rl_charge charge;
		int event;
	} open[OPEN];
	int events;
};

/* What all histories together have asked for, and got. */
static double asked, given;
static uint64_t debts;
static uint64_t seed = 1;

static uint64_t
below(uint64_t most)
{
	return test_random(&seed) % most;
}

static void
begin(struct story *y)
{
	uint32_t capacity = 1 + (uint32_t)below(below(4) > 0 ? 200000 : 600);
	uint64_t window_ns = (1 + below(120)) * RL_SECOND + (below(2) ? below(RL_SECOND) : 0);

	*y = (struct story){.is_zero = true, .now_ns = T0};
	y->limiter.window_ns = window_ns;
	y->limiter.divisor = rl_gcra_divisor(window_ns);
	rl_limiter_set(&y->limiter, RL_TOKEN_BUCKET);
	y->quota.capacity = capacity;
	y->quota.burst = below(2) ? capacity : 1 + (uint32_t)below(2 * (uint64_t)capacity);
	if (below(4) == 0)
		y->quota.burst = 1 + (uint32_t)below(60);
	y->fill_ns = (uint64_t)((rl_wide)window_ns * y->quota.burst / capacity);
}

static struct rl_view
view_of(const struct story *y)
{
	return (struct rl_view){.word = y->word, .is_zero = y->is_zero};
}

/* The word's time, in ticks. */
static rl_wide
tat_of(const struct story *y)
{
	struct rl_gcra g = rl_gcra_make(y->limiter.window_ns, y->quota.capacity, 1);
	struct rl_level level = rl_gcra_unpack(&g, y->word);

	return (rl_wide)level.ns * y->quota.capacity + level.ticks;
}

static bool
charge(struct story *y, const struct rl_quota *q, uint32_t cost, bool is_debt)
{
	const struct rl_view v = view_of(y);
	const struct rl_ask ask = {
		.l = &y->limiter, .q = q, .v = &v, .cost = cost, .now_ns = y->now_ns};
	struct rl_plan plan;

	rl_limiter_decide(&ask, &plan);
	if (!plan.charges)
		return false;
	y->word = plan.next;
	y->is_zero = false;
	y->event[y->events] =
		(struct event){y->now_ns, (rl_wide)cost * y->limiter.window_ns, is_debt};
	if (!is_debt) {
		unsigned i = (unsigned)below(OPEN);

		y->open[i].event = y->events;
		y->open[i].charge = (struct rl_charge){.epoch = plan.charge_id,
		                                       .cost = cost,
		                                       .capacity = q->capacity,
		                                       .memory = plan.memory};
	}
	y->events++;
	return true;
}

static void
admit(struct story *y)
{
	uint32_t cost = 1 + (uint32_t)below(y->quota.burst / (1 + below(20)) + 1);

	charge(y, &y->quota, cost < y->quota.burst ? cost : y->quota.burst, false);
}

static void
give_back(struct story *y, unsigned i)
{
	struct rl_charge *c = &y->open[i].charge;
	uint32_t cost = 1 + (uint32_t)below(c->cost);
	const struct rl_view v = view_of(y);
	const struct rl_ask ask = {
		.l = &y->limiter, .q = &y->quota, .v = &v, .cost = cost, .now_ns = y->now_ns};
	rl_wide before = tat_of(y), back;
	struct rl_back step;

	asked += cost;
	if (y->limiter.ops->refund(&ask, c, &step) == RL_BACK_LATE)
		return;
	y->word = step.next;
	back = before - tat_of(y);
	assert_true(step.given <= cost && back <= (rl_wide)cost * y->limiter.window_ns);
	assert_true((rl_wide)step.given * y->limiter.window_ns >= back);
	y->event[y->open[i].event].cost -= back;
	given += (double)back / (double)y->limiter.window_ns;
}

static void
settle(struct story *y)
{
	unsigned i = (unsigned)below(OPEN);
	struct rl_quota owed = y->quota;

	if (y->open[i].charge.cost == 0)
		return;
	if (below(8) > 0) {
		give_back(y, i);
	} else {
		rl_quota_owe(&y->limiter, &owed);
		debts += charge(y, &owed, 1 + (uint32_t)below(2 * (uint64_t)y->quota.burst), true);
	}
	y->open[i].charge.cost = 0;
}

static void
replay(const struct story *y)
{
	__int128 full = (__int128)y->quota.burst * y->limiter.window_ns, level = full;
	uint64_t before = T0;

	for (int i = 0; i < y->events; i++) {
		const struct event *e = &y->event[i];

		level += (__int128)(e->now_ns - before) * y->quota.capacity;
		level = (level < full ? level : full) - (__int128)e->cost;
		assert_true(e->is_debt || level >= 0);
		before = e->now_ns;
	}
}

static void
test_histories(void **state)
{
	static struct story y;

	(void)state;
	for (uint64_t n = test_scaled(1000000); n > 0; n--) {
		begin(&y);
		for (int step = 0; step < STEPS; step++) {
			if (below(3) > 0)
				y.now_ns += below(1 + y.fill_ns / (1 + below(60)));
			if (below(2) > 0)
				admit(&y);
			else
				settle(&y);
		}
		replay(&y);
	}
	assert_true(given > 0.6 * asked);
	assert_true(debts > test_scaled(1000000) / 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
