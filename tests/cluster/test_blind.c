/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blind part that follows the number of hosts, while hosts come, die in silence, are cut off,
 * lose what they say or are told, are started anew, and the store is flushed: the sum of what any
 * of them could admit blind within the last window is never above one whole part.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../rld/cluster/blind.h"
#include "testing.h"

#define HOSTS 64
#define SECONDS 2400u
#define PERIOD 10u
#define WINDOW_NS (60 * RL_SECOND)
#define HOLD_NS (WINDOW_NS / 8 * 9)

struct entry {
	uint64_t until_ns, age_ns;
	unsigned step;
};

struct host {
	bool is_there, is_alive;
	struct blind b;
	uint64_t next, cut_until; /* s */
	uint64_t last_ns[32];     /* when a part of 1 >> i was last in force, and 1 ns */
	struct entry entry;       /* in the store */
};

struct world {
	struct host of[HOSTS];
	uint64_t seed, now_ns;
	uint64_t loss;        /* of 100 */
	double in_force, all; /* host seconds */
};

static void
be_born(struct world *w, uint64_t s)
{
	for (int i = 0; i < HOSTS; i++) {
		struct host *h = &w->of[i];

		if (h->is_there)
			continue;
		*h = (struct host){.is_there = true, .is_alive = true, .next = s};
		blind_begin(&h->b, 0, 0, w->now_ns);
		return;
	}
}

static struct blind_entries
entries_of_store(struct world *w, struct host *me)
{
	struct blind_entries e = {.least_step = BLIND_STEP_MAX, .least_ns = UINT64_MAX};

	e.is_known = me->entry.until_ns > w->now_ns;
	me->entry = (struct entry){.until_ns = w->now_ns + BLIND_LIFE_NS + HOLD_NS,
	                           .age_ns = blind_age(&me->b, w->now_ns),
	                           .step = me->b.step};
	for (int i = 0; i < HOSTS; i++) {
		const struct entry *at = &w->of[i].entry;

		if (at->until_ns <= w->now_ns)
			continue;
		e.count++;
		if (&w->of[i] == me)
			continue;
		e.least_step = at->step < e.least_step ? at->step : e.least_step;
		e.least_ns = at->age_ns < e.least_ns ? at->age_ns : e.least_ns;
	}
	return e;
}

static void
announce(struct world *w, struct host *h, uint64_t s)
{
	struct blind_entries e;

	h->next = s + PERIOD - 2 + test_below(&w->seed, 5);
	if (s < h->cut_until || test_below(&w->seed, 100) < w->loss / 2)
		return;
	e = entries_of_store(w, h);
	if (test_below(&w->seed, 100) >= w->loss / 2 &&
	    blind_announced(&h->b, &e, HOLD_NS, w->now_ns, w->now_ns))
		h->next = s + 1;
}

static void
befall(struct world *w, struct host *h, uint64_t s)
{
	if (test_below(&w->seed, 1000) == 0)
		h->cut_until = s + 5 + test_below(&w->seed, 395);
	if (test_below(&w->seed, 2000) == 0)
		blind_begin(&h->b, h->b.step, h->b.until_ns, w->now_ns); /* another daemon */
}

/* What is in force now, or was within the last window. */
static double
part_of(const struct world *w, struct host *h)
{
	if (h->is_alive && w->now_ns < h->b.until_ns)
		h->last_ns[h->b.step] = w->now_ns;
	for (int i = 0; i <= BLIND_STEP_MAX; i++)
		if (h->last_ns[i] + WINDOW_NS >= w->now_ns && h->last_ns[i] > 0)
			return 1.0 / (double)(UINT64_C(1) << i);
	return 0;
}

static double
sum_up(struct world *w)
{
	double sum = 0;

	for (int i = 0; i < HOSTS; i++) {
		struct host *h = &w->of[i];
		double part = h->is_there ? part_of(w, h) : 0;

		sum += part;
		w->all += h->is_alive;
		w->in_force += h->is_alive && w->now_ns < h->b.until_ns;
		if (!h->is_alive && part == 0 && h->entry.until_ns <= w->now_ns)
			h->is_there = false;
	}
	return sum;
}

static void
come_and_go(struct world *w, uint64_t goal, uint64_t s)
{
	uint64_t alive = 0;

	for (int i = 0; i < HOSTS; i++)
		alive += w->of[i].is_alive;
	if (alive < goal && test_below(&w->seed, 100) < (test_below(&w->seed, 2) ? 30 : 2))
		be_born(w, s);
	if (alive > goal && test_below(&w->seed, 10) == 0)
		w->of[test_below(&w->seed, HOSTS)].is_alive = false;
	if (test_below(&w->seed, 1500) == 0)
		for (int i = 0; i < HOSTS; i++)
			w->of[i].entry = (struct entry){0};
}

static double
worst_of(struct world *w, uint64_t seed)
{
	double worst = 0, sum;
	uint64_t goal;

	*w = (struct world){.seed = seed};
	w->loss = test_below(&w->seed, 3) * 15;
	goal = 1 + test_below(&w->seed, 40);
	for (uint64_t s = 1000; s < 1000 + SECONDS; s++) {
		w->now_ns = s * RL_SECOND;
		if (test_below(&w->seed, 200) == 0)
			goal = 1 + test_below(&w->seed, 40);
		come_and_go(w, goal, s);
		for (int i = 0; i < HOSTS; i++) {
			struct host *h = &w->of[i];

			if (!h->is_alive)
				continue;
			befall(w, h, s);
			if (s >= h->next)
				announce(w, h, s);
		}
		sum = sum_up(w);
		worst = sum > worst ? sum : worst;
	}
	return worst;
}

static void
test_sum(void **state)
{
	const char *more = getenv("RL_POLICY_SEEDS");
	uint64_t seeds = more ? strtoull(more, NULL, 10) : test_scaled(400);
	static struct world w;
	double worst = 0, in_force = 0, all = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		double sum = worst_of(&w, seed * 977);

		worst = sum > worst ? sum : worst;
		in_force += w.in_force;
		all += w.all;
		if (sum > 1)
			fail_msg("seed %llu: %.3f of what all may admit blind",
			         (unsigned long long)seed, sum);
	}
	printf("%llu runs of 40 minutes: at most %.3f; in force %.0f %% of the hosts' time\n",
	       (unsigned long long)seeds, worst, in_force / all * 100);
	assert_true(worst > 0.9); /* one that nobody comes near would be another */
}

/* Hosts that stay: quiet at first, then each has its part, and keeps it while it is heard. */
static void
test_in_peace(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct blind_entries e = {.count = 3, .is_known = true, .least_step = 2};
	struct blind b;

	(void)state;
	blind_begin(&b, 0, 0, now_ns);
	e.is_known = false;
	assert_true(blind_announced(&b, &e, HOLD_NS, now_ns, now_ns));
	assert_int_equal(b.step, 2);
	e.is_known = true;
	e.least_ns = HOLD_NS;
	now_ns += BLIND_LIFE_NS + HOLD_NS - 1;
	assert_false(blind_announced(&b, &e, HOLD_NS, now_ns, now_ns));
	assert_int_equal(b.until_ns, 0);
	now_ns++;
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	assert_int_equal(b.until_ns, now_ns + BLIND_LIFE_NS - BLIND_MARGIN_NS);
	assert_true(blind_age(&b, now_ns) >= HOLD_NS);
	e.count = 5; /* more: at once less */
	assert_true(blind_announced(&b, &e, HOLD_NS, now_ns, now_ns));
	assert_int_equal(b.step, 3);
	assert_int_equal(blind_age(&b, now_ns), 0);
}

/* Who is not quiet for as long, or beside others who are not ready for as many, admits nothing. */
static void
test_waits_for_others(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct blind_entries e = {
		.count = 5, .is_known = true, .least_step = 3, .least_ns = HOLD_NS};
	struct blind b;

	(void)state;
	blind_begin(&b, 0, 0, now_ns);
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	now_ns += BLIND_LIFE_NS + HOLD_NS;
	e.least_ns = HOLD_NS - 1;
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	assert_int_equal(b.until_ns, 0);
	e.least_ns = HOLD_NS;
	e.least_step = 2;
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	assert_int_equal(b.until_ns, 0);
	e.least_step = 3;
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	assert_true(b.until_ns > now_ns);
	e.is_known = false;
	blind_announced(&b, &e, HOLD_NS, now_ns, now_ns);
	assert_int_equal(b.until_ns, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_in_peace),
		cmocka_unit_test(test_waits_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
