/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buckets whose charges are settled, in a segment that is resized now and then, so that their key
 * moves with the next call or later. Two exact buckets are beside it, in whole ticks: in one each
 * request costs what it cost in the end, from its own time on, in the other what it was charged at
 * first. What the library counts lies between them: it never admits what the first has no room for,
 * and never denies what the second has.
 */
#include <rl_admin.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define STEPS 40      /* of a history, whose bucket begins full */
#define OPEN 12       /* charges that may be settled still */
#define HISTORIES 100 /* of a rule, and a segment */
#define RESIZES 1000  /* steps between them, on the average */

typedef __int128 exact; /* ticks of 1 / capacity ns, of which a token takes window_ns */

struct event {
	uint64_t now_ns;
	uint32_t cost, charged;
	bool is_debt;
};

struct open_charge {
	struct rl_charges charges;
	struct event *event;
	unsigned table;
};

struct world {
	struct rl *rl;
	int rule;
	struct rl_limit limit;
	uint32_t size; /* tokens of a full one; of a leaky bucket one that need not wait */
	uint64_t now_ns, fill_ns;
	unsigned table; /* how often the segment was resized */
	struct event event[STEPS];
	int events;
	struct open_charge open[OPEN];
};

/* What all histories together have come to. */
static uint64_t tables, given, given_moved, owed, admitted, denied;
static uint64_t seed = 1;

static uint64_t
below(uint64_t most)
{
	return test_random(&seed) % most;
}

/* What is left in one of both, now. */
static exact
level_of(const struct world *w, bool by_cost)
{
	exact full = (exact)w->size * w->limit.window_ns, level = full;
	uint64_t before = T0;

	for (int i = 0; i <= w->events; i++) {
		const struct event *e = &w->event[i];
		bool is_now = i == w->events;
		uint64_t now_ns = is_now ? w->now_ns : e->now_ns;

		level += (exact)(now_ns - before) * w->limit.capacity;
		level = level < full ? level : full;
		if (!is_now)
			level -= (exact)(by_cost ? e->cost : e->charged) * w->limit.window_ns;
		before = now_ns;
	}
	return level;
}

static struct event *
add_event(struct world *w, uint32_t cost, bool is_debt)
{
	struct event *e = &w->event[w->events++];

	*e = (struct event){w->now_ns, cost, cost, is_debt};
	return e;
}

static void
charge(struct world *w)
{
	uint32_t cost = 1 + (uint32_t)below(w->size / (1 + below(20)) + 1);
	struct open_charge *kept = &w->open[below(OPEN)]; /* one that is lost stays charged */
	struct rl_charges charges;
	struct rl_item item = {.rule = w->rule, .key = "k", .key_len = 1, .now_ns = w->now_ns};
	struct rl_result r;
	exact wanted;

	item.cost = cost < w->size ? cost : w->size;
	item.charges = &charges;
	wanted = (exact)item.cost * w->limit.window_ns;
	if (rl_check_item(w->rl, &item, &r) == RL_ALLOWED) {
		assert_true(level_of(w, true) >= wanted);
		*kept = (struct open_charge){charges, add_event(w, (uint32_t)item.cost, false),
		                             w->table};
		admitted++;
		return;
	}
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_true(level_of(w, false) < wanted);
	denied++;
}

static void
settle(struct world *w)
{
	struct open_charge *c = &w->open[below(OPEN)];
	uint32_t cost, actual;
	int done;

	if (!c->event)
		return;
	cost = c->event->cost;
	actual = (uint32_t)(below(4) > 0 ? below(cost + UINT64_C(1))
	                                 : cost + 1 + below(2 * (uint64_t)w->size));
	done = at_settle(w->rl, &c->charges, actual, w->now_ns);
	assert_true(done == 0 || done == 1);
	if (actual > cost) {
		assert_int_equal(done, 1);
		add_event(w, actual - cost, true);
		owed++;
	} else if (actual < cost) {
		c->event->cost = actual;
		given += done == 1;
		given_moved += done == 1 && c->table != w->table;
	}
	assert_int_equal(at_settle(w->rl, &c->charges, 0, w->now_ns), RL_ESETTLED);
	c->event = NULL;
}

/* Once all of an earlier one is over. */
static void
resize(struct world *w)
{
	struct rl_resize to = {.keys = 20 + (uint32_t)below(400)};
	struct rl_moving moving = {0};

	if (w->table > 0) {
		assert_true(rl_move_slots_at(w->rl, 0, UINT64_MAX, w->now_ns, &moving) >= 0);
		assert_int_equal(moving.left, 0);
		assert_true(rl_move_end(w->rl) >= 0);
	}
	assert_int_equal(rl_resize(w->rl, &to, 0), 0);
	w->table++;
	tables++;
}

static void
step(struct world *w)
{
	if (below(3) > 0)
		w->now_ns += below(1 + w->fill_ns / (1 + below(60)));
	if (below(RESIZES) == 0)
		resize(w);
	if (below(2) > 0)
		charge(w);
	else
		settle(w);
}

/* All that the one before it has charged and owes is over: at most 2 bursts a step. */
static void
history(struct world *w)
{
	w->now_ns += w->fill_ns * 2 * STEPS + 2 * w->limit.window_ns;
	w->events = 0;
	for (int i = 0; i < OPEN; i++)
		w->open[i].event = NULL;
	for (int i = 0; i < STEPS; i++)
		step(w);
}

static void
begin(struct world *w, struct rl *rl, enum rl_algorithm algorithm)
{
	uint32_t capacity = 1 + (uint32_t)below(below(4) > 0 ? 2000 : 30);
	uint32_t burst = below(2) ? capacity : 1 + (uint32_t)below(2 * (uint64_t)capacity);
	struct rl_rule rule = {.name = "r"};

	*w = (struct world){.rl = rl, .now_ns = T0};
	w->limit = (struct rl_limit){
		.algorithm = algorithm,
		.capacity = capacity,
		.window_ns = (1 + below(120)) * RL_SECOND + (below(2) ? below(RL_SECOND) : 0),
		.burst = burst,
	};
	w->size = burst + (algorithm == RL_LEAKY_BUCKET);
	w->fill_ns = (uint64_t)((exact)w->limit.window_ns * w->size / capacity) + 1;
	rule.limit = w->limit;
	w->rule = rl_define(rl, &rule);
	assert_true(w->rule >= 0);
}

static void
play(enum rl_algorithm algorithm)
{
	const struct rl_options options = {.keys = 64, .ring = 8};
	static struct world w;

	tables = given = given_moved = owed = admitted = denied = 0;
	for (uint64_t n = test_scaled(400); n > 0; n--) {
		struct rl *rl;

		assert_int_equal(rl_open(test_segment_name(), &options, &rl), 0);
		begin(&w, rl, algorithm);
		for (int i = 0; i < HISTORIES; i++)
			history(&w);
		rl_close(rl);
		test_unlink(NULL);
	}
	assert_true(tables > test_scaled(400) && given_moved > 0 && owed > 0);
	assert_true(admitted > denied / 4 && denied > admitted / 10);
}

static void
test_tokens(void **state)
{
	(void)state;
	play(RL_TOKEN_BUCKET);
}

static void
test_leaks(void **state)
{
	(void)state;
	play(RL_LEAKY_BUCKET);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_tokens, test_unlink),
		cmocka_unit_test_teardown(test_leaks, test_unlink),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
