/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who takes units in flight, gives them back, or gives back those of the dead, dies at any
 * instruction. A child is single-stepped through it. Whenever it has changed a byte of the segment
 * it stands still, and the others go on as if it never came back. And it is killed in earnest after
 * every n-th instruction: then what it held comes back, all of it and nothing else.
 */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "holder/seat.h"
#include "rule/handle.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)
#define CAPACITY 6
#define MINE 2     /* units that the parent holds, which outlives all */
#define ANOTHERS 1 /* and another living holder */
#define CHANGES_MAX 16
#define ACCESSES_MAX 6000 /* of what others do afterwards: they wait for nobody */

static const struct rl_options tiny = {
	.keys = 12, .ring = 4, .rules = 6, .bans = 4, .overrides = 4, .holders = 16};

/* What a child does to the key. */
struct operation {
	void (*run)(void);
	bool has_dead;  /* units of a dead holder fill the capacity */
	uint32_t takes; /* units that it holds in the end */
	uint32_t gives; /* units of its parent's that it gives back */
};

static struct rl *rl, *other;
static uint64_t accesses; /* to shared words, where the build counts them */
static int rule;
static struct rl_hold mine;
static unsigned char *before_run, *as_left;

/* Called by atomic.h on the builds that count. */
void rl_atomic_hook(void);

void
rl_atomic_hook(void)
{
	accesses++;
}

static uint32_t
used(struct rl *by)
{
	struct rl_result r;

	at_peek(by, rule, "k", 1, T0, &r);
	return r.used;
}

static enum rl_verdict
take(struct rl *by, uint32_t cost, struct rl_hold *hold)
{
	struct rl_charges charges;
	enum rl_verdict verdict = test_check_at(by, rule, "k", 1, cost, T0, NULL, &charges);

	rl_holds(&charges, hold, 1);
	return verdict;
}

static void
run_take(void)
{
	struct rl_hold hold;

	take(rl, 1, &hold);
}

static void
run_give(void)
{
	struct rl_hold copy = mine;

	rl_release(rl, &copy, 1);
}

static void
run_take_and_give(void)
{
	struct rl_hold hold;

	take(rl, 2, &hold);
	rl_release(rl, &hold, 1);
}

static void
run_sweep(void)
{
	rl_sweep_at(rl, T0);
}

static const struct operation operations[] = {
	{run_take, false, 1, 0},    {run_take, true, 1, 0}, /* which is denied at first */
	{run_give, false, 0, MINE}, {run_take_and_give, false, 0, 0}, {run_sweep, true, 0, 0},
};

static void
keep(unsigned char *to)
{
	memcpy(to, rl->segment.header, rl->segment.bytes);
}

static void
restore(const unsigned char *from)
{
	memcpy(rl->segment.header, from, rl->segment.bytes);
}

static void
assert_clean(void)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("%s", a.fault);
}

/* What is free by now can be taken, and no more; and is given back. */
static void
assert_free(struct rl *by, uint32_t units)
{
	struct rl_hold hold;

	accesses = 0;
	assert_int_equal(take(by, units + 1, &hold), RL_DENIED);
	assert_int_equal(take(by, units, &hold), RL_ALLOWED);
	assert_int_equal(used(by), CAPACITY);
	assert_true(accesses <= ACCESSES_MAX);
	assert_clean();
	assert_int_equal(rl_release(by, &hold, 1), 1);
}

/* The child stands still, and does not look dead: its step was made or not. */
static void
assert_goes_on(const struct operation *op)
{
	uint32_t least = MINE + ANOTHERS - op->gives, held;

	assert_clean();
	assert_true(used(rl) >= least && used(rl) <= CAPACITY);
	rl_sweep_at(other, T0); /* the dead, if any */
	held = used(rl);
	assert_true(held >= least && held <= MINE + ANOTHERS + 2);
	assert_free(other, CAPACITY - held);
	assert_int_equal(used(rl), held);
	assert_clean();
}

/* It is dead: what it held is there again for a newcomer, who has looked at nobody before. */
static void
assert_comes_back(const struct operation *op)
{
	uint32_t held;
	struct rl *newcomer;

	assert_clean();
	assert_int_equal(rl_open(test_segment_name(), &tiny, &newcomer), 0);
	rl_sweep_at(newcomer, T0);
	held = used(newcomer);
	assert_true(held == MINE + ANOTHERS || held == MINE + ANOTHERS - op->gives);
	assert_free(newcomer, CAPACITY - held);
	assert_int_equal(used(newcomer), held);
	rl_close(newcomer);
}

/*
 * Returns how many instructions there were; after which the bytes were others is in changed_at[].
 */
static int
stop_everywhere(const struct operation *op, int changed_at[static CHANGES_MAX], int *changes)
{
	int steps = 0;
	pid_t pid;

	restore(before_run);
	keep(as_left);
	pid = start(op->run);
	for (; step(PTRACE_SINGLESTEP, pid); steps++) {
		if (memcmp(rl->segment.header, as_left, rl->segment.bytes) == 0)
			continue;
		keep(as_left);
		assert_goes_on(op);
		restore(as_left);
		assert_true(*changes < CHANGES_MAX);
		changed_at[(*changes)++] = steps + 1;
	}
	finish(pid);
	return steps;
}

static void
kill_after(const struct operation *op, int steps)
{
	pid_t pid;

	restore(before_run);
	pid = start(op->run);
	advance(PTRACE_SINGLESTEP, pid, steps);
	finish(pid);
	assert_comes_back(op);
}

static int
kill_in_earnest(const struct operation *op, int steps)
{
	int kills = 0;

	for (int i = 1; i <= steps; i += stride(steps), kills++)
		kill_after(op, i);
	return kills;
}

/* Three tallies, one of them of a holder that has ended, if that is asked for. */
static void
prepare(const struct operation *op)
{
	struct rl_hold its;
	struct rl *dead;

	assert_int_equal(rl_reset(rl, rule, "k", 1) >= 0, 1);
	assert_int_equal(take(rl, MINE, &mine), RL_ALLOWED);
	assert_int_equal(take(other, ANOTHERS, &its), RL_ALLOWED);
	if (op->has_dead) {
		assert_int_equal(rl_open(test_segment_name(), &tiny, &dead), 0);
		assert_int_equal(take(dead, CAPACITY - MINE - ANOTHERS, &its), RL_ALLOWED);
		rl_close(dead);
	}
	keep(before_run);
}

static void
test_operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
		int changed_at[CHANGES_MAX], changes = 0, steps, kills;

		prepare(&operations[i]);
		steps = stop_everywhere(&operations[i], changed_at, &changes);
		assert_true(changes > 0);
		kills = kill_in_earnest(&operations[i], steps);
		for (int c = 0; c < changes; c++)
			kill_after(&operations[i], changed_at[c]);
		restore(before_run);
		print_message("           %d instructions, %d left other bytes, %d kills\n", steps,
		              changes, kills);
	}
}

static int
open_both(void **state)
{
	const struct rl_rule in_flight = {
		.name = "r", .limit = {.algorithm = RL_IN_FLIGHT, .capacity = CAPACITY}};

	(void)state;
	is_done = test_shared(sizeof *is_done);
	assert_int_equal(rl_open(test_segment_name(), &tiny, &rl), 0);
	assert_int_equal(rl_open(test_segment_name(), &tiny, &other), 0);
	rule = rl_define(rl, &in_flight);
	before_run = malloc(rl->segment.bytes);
	as_left = malloc(rl->segment.bytes);
	return 0;
}

static int
close_both(void **state)
{
	free(before_run);
	free(as_left);
	rl_close(other);
	rl_close(rl);
	return test_unlink(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations)};

	test_segment_name();
	return cmocka_run_group_tests(tests, open_both, close_both);
}
