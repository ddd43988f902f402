/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by key under chosen schedules of the real code. What workers were told, and between
 * which instants they asked, must be what a counter without any concurrency could have told in some
 * order (see test_linearizable.c, which does the same for limits). Time passes, counters expire,
 * half claims are swept, a key of a rule wants the same slots, and workers are killed. The buffer
 * outlasts every stop: a worker that is late finds what has expired since as it was.
 */
#include <string.h>

#include "at.h"
#include "rule/handle.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define LIFETIME_NS (4 * RL_SECOND)
#define OPERATIONS 3 /* of a worker */
#define HISTORY (WORKERS * OPERATIONS)
#define RUNS 30000

enum kind {
	ADD,
	GET,
	SET,
	SET_NEW,
	TOUCH,
	DROP,
	KINDS,
};

struct operation {
	enum kind kind;
	uint64_t now_ns;
	int64_t amount;       /* or the value that is set */
	uint64_t lifetime_ns; /* 0: of what is there */
	int began, ended;     /* ended 0: killed in it */
	int did;
	struct rl_count count;
};

struct counter {
	uint64_t value;
	uint64_t expires_ns; /* 0: it was never there, or is dropped */
};

static struct operation history[HISTORY];
static int length, instant;
static struct rl *rl;
static int space, rule;

static int
answer(const struct counter *c, const struct operation *o, int did, bool is_new,
       struct rl_count *count)
{
	bool is_alive = c->expires_ns > o->now_ns;

	*count = (struct rl_count){.value = is_alive ? c->value : 0,
	                           .expires_after_ns = is_alive ? c->expires_ns - o->now_ns : 0,
	                           .is_new = is_new};
	return did;
}

/* Let the counter do it; what it says. */
static int
perform(struct counter *c, const struct operation *o, struct rl_count *count)
{
	bool is_alive = c->expires_ns > o->now_ns, makes;

	makes = o->lifetime_ns > 0 && (o->kind != ADD || o->amount > 0) && o->kind != GET &&
	        o->kind != TOUCH;
	if (o->kind == DROP) {
		c->expires_ns = is_alive ? 0 : c->expires_ns;
		*count = (struct rl_count){0};
		return is_alive;
	}
	if (o->kind == GET || (!is_alive && !makes))
		return answer(c, o, o->kind == GET && is_alive, false, count);
	if (is_alive && o->kind == SET_NEW)
		return answer(c, o, 0, false, count);
	if (!is_alive)
		*c = (struct counter){0, o->now_ns + o->lifetime_ns};
	else if ((o->kind == SET || o->kind == TOUCH) && o->lifetime_ns > 0)
		c->expires_ns = o->now_ns + o->lifetime_ns;
	if (o->kind == TOUCH)
		return answer(c, o, 1, false, count);
	if (o->kind != ADD)
		c->value = (uint64_t)o->amount;
	else if (o->amount < 0 && c->value < (uint64_t)-o->amount)
		c->value = 0;
	else
		c->value += (uint64_t)o->amount;
	return answer(c, o, 1, !is_alive, count);
}

static bool
agrees(struct counter *c, const struct operation *o)
{
	struct rl_count count;
	int did = perform(c, o, &count);

	return o->ended == 0 || (did == o->did && count.value == o->count.value &&
	                         count.expires_after_ns == o->count.expires_after_ns &&
	                         count.is_new == o->count.is_new);
}

#define ORDER_STATE struct counter
#include "order.h"

static void
show_history(void)
{
	static const char *const names[] = {"add", "get", "set", "set new", "touch", "drop"};

	for (int i = 0; i < length; i++) {
		const struct operation *o = &history[i];
		print_message("%d: %s %d at %d for %d, from %d to %d: did %d, value %d, expires in "
		              "%d, new %d\n",
		              i, names[o->kind], (int)o->amount,
		              (int)((o->now_ns - T0) / RL_SECOND),
		              (int)(o->lifetime_ns / RL_SECOND), o->began, o->ended, o->did,
		              (int)o->count.value, (int)(o->count.expires_after_ns / RL_SECOND),
		              o->count.is_new);
	}
}

static void
do_operation(struct operation *o)
{
	o->began = ++instant;
	switch (o->kind) {
	case ADD:
		o->did = at_counter_add(rl, space, "k", 1, o->amount, o->lifetime_ns, o->now_ns,
		                        &o->count);
		break;
	case GET:
		o->did = at_counter_get(rl, space, "k", 1, o->now_ns, &o->count);
		break;
	case SET:
		o->did = at_counter_set(rl, space, "k", 1, (uint64_t)o->amount, o->lifetime_ns,
		                        o->now_ns, &o->count);
		break;
	case SET_NEW:
		o->did = at_counter_set_new(rl, space, "k", 1, (uint64_t)o->amount, o->lifetime_ns,
		                            o->now_ns, &o->count);
		break;
	case TOUCH:
		o->did = at_counter_touch(rl, space, "k", 1, o->lifetime_ns, o->now_ns, &o->count);
		break;
	default:
		o->did = at_counter_drop(rl, space, "k", 1, o->now_ns);
	}
	o->ended = ++instant;
}

static void
choose(struct operation *o)
{
	static const enum kind kinds[] = {ADD, ADD, ADD, GET, SET, SET_NEW, TOUCH, DROP};

	*o = (struct operation){.kind = kinds[test_below(&seed, 8)], .now_ns = T0 + passed_ns};
	o->amount = (int64_t)test_below(&seed, 4);
	if (o->kind == ADD)
		o->amount--;
	if (o->kind == SET_NEW || o->kind == TOUCH ||
	    (o->kind < SET_NEW && test_below(&seed, 4) > 0))
		o->lifetime_ns = LIFETIME_NS << test_below(&seed, 2);
}

static void
work(int worker)
{
	(void)worker;
	for (int i = 0; i < OPERATIONS; i++) {
		struct operation *o = &history[length++];

		choose(o);
		if (test_below(&seed, 5) == 0)
			rl_sweep_at(rl, o->now_ns);
		if (test_below(&seed, 6) == 0)
			at_check(rl, rule, "k", 1, 1, o->now_ns, NULL);
		do_operation(o);
	}
}

/* One reads, the others set: to the same lifetime again, with another value. */
static void
read_and_set(int worker)
{
	for (int i = 0; i < OPERATIONS; i++) {
		struct operation *o = &history[length++];

		*o = (struct operation){.kind = worker == 0 ? GET : SET,
		                        .now_ns = T0,
		                        .amount = length,
		                        .lifetime_ns = LIFETIME_NS << (i % 2)};
		do_operation(o);
	}
}

static void
start(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	length = instant = 0;
}

static void
play(void (*what)(int worker), uint64_t first, uint64_t runs, uint64_t step_ns)
{
	pause_ns = step_ns;
	for (uint64_t run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		start();
		run_schedule(what);
		if (!has_order((struct counter){0}, 0)) {
			show_history();
			fail_msg("run %llu: no order of these", (unsigned long long)run);
		}
	}
}

static void
open_segment(void)
{
	const struct rl_options o = {
		.keys = 12, .bans = 1, .ring = 1, .rules = 2, .buffer_ns = 86400 * RL_SECOND};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	space = rl_define_counters(rl, "c");
	rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
}

static void
test_counters(void **state)
{
	(void)state;
	open_segment();
	for (int i = 0; i < 4; i++) {
		kills = i % 2;
		play(work, 1 + (uint64_t)i * RUNS, RUNS, i < 2 ? 0 : RL_SECOND);
	}
	rl_close(rl);
}

/* What is read is of one instant: value and lifetime belong together. */
static void
test_halves(void **state)
{
	(void)state;
	open_segment();
	kills = false;
	play(read_and_set, 1, 8 * RUNS, 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_halves),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
