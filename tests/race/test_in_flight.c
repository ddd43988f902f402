/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units in flight under chosen schedules of the real code. What workers were told, and between
 * which instants they asked, must be what one total could have told in some order (see
 * test_counter_order.c). Each worker is a holder of its own; another one has ended before them and
 * left units, for which nobody is denied, whoever gives them back. Workers are killed in the midst
 * of taking, giving back, reclaiming and sweeping. Afterwards all comes back: nothing more, and
 * nothing less. The same under two limits, and while tables change: a hold that was taken in a
 * table is given back in another one.
 */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "holder/holder.h"
#include "holder/seat.h"
#include "rule/handle.h"
#include "schedule.h"

#include "moves.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define CAPACITY 4
#define DEAD WORKERS /* the holder that has ended */
#define HOLDERS (WORKERS + 1)
#define SEATS 8
#define OPERATIONS 4 /* of a worker */
#define HISTORY (WORKERS * OPERATIONS)
#define RUNS 100000
#define RUNS_BESIDE 30000
#define RUNS_OF_MOVES 4000

enum kind {
	ACQUIRE,
	RELEASE,
};

struct operation {
	enum kind kind;
	uint32_t cost;
	int began, ended; /* ended 0: killed in it, or nobody asked for it */
	int did;
};

struct held {
	struct rl_hold hold;
	uint32_t cost;
	int worker;
	bool is_free;   /* that somebody may give back */
	bool is_unsure; /* who gave it back was killed in it */
};

static struct operation history[HISTORY];
static struct held held[HISTORY];
static int length, holds, instant;
static struct rl *rl[HOLDERS];
static struct rl_u128 seats[SEATS]; /* as everybody sits */
static uint32_t seat_of[HOLDERS];
static int rule;
static uint32_t left;  /* by the one that has ended */
static bool moves;     /* tables change */
static bool is_beside; /* of another limit */

static bool
agrees(uint32_t *total, const struct operation *o)
{
	if (o->kind == RELEASE) {
		*total -= o->cost;
		return o->ended == 0 || o->did == 1;
	}
	if (*total + o->cost > CAPACITY)
		return o->ended == 0 || o->did == 0;
	*total += o->cost;
	return o->ended == 0 || o->did == 1;
}

#define ORDER_STATE uint32_t
#include "order.h"

static void
show_history(void)
{
	static const char *const names[] = {"acquire", "release"};

	for (int i = 0; i < length; i++)
		print_message("%d: %s %u, from %d to %d: did %d\n", i, names[history[i].kind],
		              history[i].cost, history[i].began, history[i].ended, history[i].did);
}

/* Of a new operation; what it says is not yet known. */
static struct operation *
begin(enum kind kind, uint32_t cost)
{
	struct operation *o = &history[length++];

	*o = (struct operation){.kind = kind, .cost = cost, .began = ++instant};
	return o;
}

static void
acquire(int worker)
{
	struct operation *o = begin(ACQUIRE, 1 + (uint32_t)test_below(&seed, 2));
	struct rl_charges charges;

	o->did = test_check_at(rl[worker], rule, "k", 1, o->cost, T0, NULL, &charges) == RL_ALLOWED;
	if (o->did) {
		rl_holds(&charges, &held[holds].hold, 1);
		held[holds].cost = o->cost;
		held[holds].worker = worker;
		held[holds].is_unsure = false;
		held[holds++].is_free = true;
	}
	o->ended = ++instant;
}

/* One of anybody's; it is nobody else's from now on. */
static void
release(int worker)
{
	struct operation *o;
	struct held *h = NULL;
	struct rl_hold copy;

	for (int i = 0; i < holds; i++)
		if (held[i].is_free && (!h || test_below(&seed, 2) == 0))
			h = &held[i];
	if (!h)
		return;
	h->is_free = false;
	h->is_unsure = true;
	o = begin(RELEASE, h->cost);
	copy = h->hold; /* it outlives whoever is killed in giving it back */
	o->did = rl_release(rl[worker], &copy, 1);
	o->ended = ++instant;
	h->is_unsure = false;
}

static void
work(int worker)
{
	for (int i = 0; i < OPERATIONS; i++) {
		if (moves)
			change_tables(rl[worker], T0);
		else if (test_below(&seed, 5) == 0)
			rl_sweep_at(rl[worker], T0);
		if (test_below(&seed, 3) == 0)
			release(worker);
		else
			acquire(worker);
	}
}

/* Its process has ended. */
static void
end(int holder)
{
	rl[0]->segment.holders[seat_of[holder]].lo &= ~RL_SEAT_PID_MASK;
}

/* An empty table, everybody at his seat, and units left by one who has ended. */
static void
start(void)
{
	const struct rl_segment *s = &rl[0]->segment;
	struct rl_charges charges;

	empty_tables(rl, HOLDERS);
	memcpy(s->holders, seats, sizeof seats);
	length = holds = instant = 0;
	left = (uint32_t)test_below(&seed, 3);
	if (left > 0)
		assert_int_equal(test_check_at(rl[DEAD], rule, "k", 1, left, T0, NULL, &charges),
		                 RL_ALLOWED);
	end(DEAD);
}

static uint32_t
used(void)
{
	struct rl_result r;

	at_peek(rl[0], rule, "k", 1, T0, &r);
	return r.used;
}

/* A key whose name is not there, for a writer of it was killed, moves when it is asked after. */
static void
settle(void)
{
	move_all(rl[DEAD], T0);
	used();
	move_all(rl[DEAD], T0);
	assert_int_equal(rl_move_end(rl[DEAD]), 1);
}

/*
 * The table in force, when all has come to it. The first may find a slot LEAVING, by somebody who
 * was killed, and only settle it.
 */
static void
sweep_twice(void)
{
	settle();
	rl_sweep_at(rl[DEAD], T0);
	rl_sweep_at(rl[DEAD], T0);
}

/* Who was killed is dead; what the others hold can be given back, each once. */
static void
give_all_back(void)
{
	bool sweeps_first = test_below(&seed, 2) == 0;

	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fate == KILLED)
			end(i);
	if (sweeps_first)
		sweep_twice();
	for (int i = 0; i < holds; i++) {
		bool is_dead = workers[held[i].worker].fate == KILLED;

		if (!held[i].is_free)
			continue;
		assert_int_equal(rl_release(rl[DEAD], &held[i].hold, 1),
		                 !(is_dead && sweeps_first));
		assert_int_equal(rl_release(rl[DEAD], &held[i].hold, 1), 0);
	}
	for (int i = 0; i < holds; i++)
		if (held[i].is_unsure) /* once more may take another such unit: that comes back
		                          now */
			end(held[i].worker);
	sweep_twice();
	assert_int_equal(used(), 0);
}

static void
audit(uint64_t run, const char *when)
{
	struct audit a;

	if (!audit_segment(rl[0], &a))
		fail_msg("run %llu, %s: %s", (unsigned long long)run, when, a.fault);
}

static void
play(uint64_t first, uint64_t runs)
{
	for (uint64_t run = first; run < first + runs; run++) {
		seed = run;
		start();
		run_schedule(work);
		if (!has_order(0, 0)) {
			show_history();
			fail_msg("run %llu: no order of these, %u left", (unsigned long long)run,
			         left);
		}
		audit(run, "ended");
		give_all_back();
		audit(run, "given back");
	}
}

static void
sit_down(int holder)
{
	const struct rl_options o = {
		.keys = 24, .bans = 1, .ring = HOLDERS, .rules = 2, .holders = SEATS};
	const struct rl_limit another = {.capacity = RUNS, .window_ns = 3600 * RL_SECOND};
	struct rl_limit limit = {.algorithm = RL_IN_FLIGHT, .capacity = CAPACITY};
	uint32_t label;

	assert_int_equal(rl_open(test_segment_name(), &o, &rl[holder]), 0);
	rule = rl_define(rl[holder], &(struct rl_rule){.name = "r",
	                                               .limit = limit,
	                                               .more = &another,
	                                               .more_count = is_beside ? 1 : 0});
	assert_int_equal(rl_holders_mine(rl[holder]->handle->holders, &label), 0);
	seat_of[holder] = rl_label_seat(label);
}

static void
play_all(uint64_t runs)
{
	for (int i = 0; i < HOLDERS; i++)
		sit_down(i);
	memcpy(seats, rl[0]->segment.holders, sizeof seats);
	resizes = 0;
	for (int i = 0; i < 2; i++) {
		kills = i == 1;
		play(1 + (uint64_t)i * runs, test_scaled(runs));
	}
	for (int i = 0; i < HOLDERS; i++)
		rl_close(rl[i]);
}

static void
test_holders(void **state)
{
	(void)state;
	moves = false;
	play_all(RUNS);
}

static void
test_holders_beside_another_limit(void **state)
{
	(void)state;
	moves = false;
	is_beside = true;
	play_all(RUNS_BESIDE);
	is_beside = false;
}

static void
test_holders_beside_moves(void **state)
{
	(void)state;
	moves = true;
	play_all(RUNS_OF_MOVES);
	assert_true(resizes > test_scaled(RUNS_OF_MOVES) / 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_holders, test_unlink),
		cmocka_unit_test_teardown(test_holders_beside_another_limit, test_unlink),
		cmocka_unit_test_teardown(test_holders_beside_moves, test_unlink)};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
