/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many keys are forgotten while other processes charge them, define rules and forget others: by
 * chosen intrusions, and by processes at once.
 */
#include <errno.h>

#include "at.h"
#include "intrude.h"

#define KEY_COUNTS 20000 /* that each process adds */
#define PROCESSES 3

static int other_rule;
static struct rl_reset_counts counts;
static int outcome;

static struct rl *
open_tiny(int *rule)
{
	const struct rl_options o = {.keys = 12, .ring = 4, .rules = 1, .bans = 1};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	*rule = test_rule(rl, "r", 100000, 60 * RL_SECOND, 0, false);
	assert_int_equal(check(rl, *rule), RL_ALLOWED);
	assert_int_equal(check(rl, *rule), RL_ALLOWED);
	return rl;
}

static uint32_t
used(struct rl *rl, int rule, const char *key)
{
	struct rl_result r;

	at_peek(rl, rule, key, 1, T0, &r);
	return r.limit - r.remaining;
}

static void
reset_rule(struct rl *rl, int rule)
{
	outcome = rl_reset_matching(rl, rule, NULL, &counts);
}

static void
renew_rule(struct rl *rl, int rule)
{
	outcome = rl_reset_matching(rl, rule, NULL, NULL);
	counts.forgotten = 1;
}

static void
reset_beginning(struct rl *rl, int rule)
{
	const struct rl_pattern k = {RL_MATCH_PREFIX, "k", 1};

	outcome = rl_reset_matching(rl, rule, &k, &counts);
}

static void
charge(struct rl *rl, int rule)
{
	check(rl, rule);
}

/* What was there is forgotten; a charge that comes meanwhile counts or does not. */
static void
test_a_charge_meanwhile(void **state)
{
	call_fn *const resets[] = {reset_rule, reset_beginning, renew_rule};
	bool has_come = true;

	(void)state;
	for (int n = 1; has_come; n++) {
		bool has = false;

		for (int i = 0; i < 3; i++) {
			int rule;
			struct rl *rl = open_tiny(&rule);

			has |= intrude(rl, rule, resets[i], charge, n);
			assert_int_equal(outcome, 0);
			assert_in_range(counts.forgotten, 1, 2);
			assert_in_range(used(rl, rule, "k"), 0, 1);
			rl_close(rl);
		}
		has_come = has;
	}
}

/* The rule goes, and another takes its rows and the key's name. */
static void
replace_rule(struct rl *rl, int rule)
{
	assert_int_equal(rl_forget(rl, "r"), 1);
	other_rule = test_rule(rl, "next", 9, 60 * RL_SECOND, 0, false);
	assert_int_equal(rl_rule_row(other_rule), rl_rule_row(rule));
	check(rl, other_rule);
}

static void
assert_next_keeps_its_count(call_fn *reset)
{
	bool has_come = true;

	for (int n = 1; has_come; n++) {
		int rule;
		struct rl *rl = open_tiny(&rule);

		has_come = intrude(rl, rule, reset, replace_rule, n);
		if (has_come)
			assert_int_equal(used(rl, other_rule, "k"), 1);
		rl_close(rl);
	}
}

static void
test_a_rule_in_its_rows(void **state)
{
	(void)state;
	assert_next_keeps_its_count(reset_rule);
	assert_next_keeps_its_count(renew_rule);
}

/* The key goes, and another one takes its slot. */
static void
replace_key(struct rl *rl, int rule)
{
	rl_reset(rl, rule, "k", 1);
	assert_int_equal(at_check(rl, rule, "o", 1, 1, T0, NULL), RL_ALLOWED);
}

static void
test_a_key_in_its_slot(void **state)
{
	bool has_come = true;

	(void)state;
	for (int n = 1; has_come; n++) {
		int rule;
		struct rl *rl = open_tiny(&rule);

		has_come = intrude(rl, rule, reset_beginning, replace_key, n);
		assert_int_equal(used(rl, rule, "k"), 0);
		assert_int_equal(used(rl, rule, "o"), has_come ? 1 : 0);
		assert_int_equal(counts.unknown, 0);
		rl_close(rl);
	}
}

/* At each access of the reset, for ever. */
static void
charge_always(struct rl *rl, int rule)
{
	check(rl, rule);
	wait_for = 1;
}

static void
test_a_slot_that_keeps_changing(void **state)
{
	struct rl *rl;
	int rule;

	(void)state;
	rl = open_tiny(&rule);
	assert_int_equal(at_check(rl, rule, "o", 1, 1, T0, NULL), RL_ALLOWED);
	intrude(rl, rule, reset_rule, charge_always, 1);
	assert_int_equal(outcome, -EBUSY);
	assert_int_equal(counts.forgotten, 1);
	assert_int_equal(used(rl, rule, "o"), 0);
	assert_true(used(rl, rule, "k") > 2);
	rl_close(rl);
}

/* How often each value was told to those who added; every life of a counter begins with 1. */
struct told {
	uint64_t done;      /* processes */
	uint64_t forgotten; /* lives */
	uint32_t times[PROCESSES][PROCESSES * KEY_COUNTS + 1];
};

static int
count_up(struct told *told, int i)
{
	struct rl *rl;
	int space;

	if (rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl) < 0)
		return 1;
	space = rl_define_counters(rl, "space");
	for (int n = 0; n < KEY_COUNTS; n++) {
		struct rl_count count;
		if (at_counter_add(rl, space, "k", 1, 1, RL_NEVER_NS, T0, &count) != 1)
			return 2;
		told->times[i][count.value]++;
	}
	rl_close(rl);
	return 0;
}

/* For as long as the others count. How often that has forgotten a life is told. */
static int
reset_meanwhile(struct told *told)
{
	uint64_t forgotten = 0, rounds = 0;
	struct rl *rl;
	int space;

	if (rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl) < 0)
		return 1;
	space = rl_define_counters(rl, "space");
	while (__atomic_load_n(&told->done, __ATOMIC_SEQ_CST) < PROCESSES) {
		int error =
			rl_reset_matching(rl, rounds++ % 2 ? space : RL_ANY_RULE, NULL, &counts);
		if (error < 0 && error != -EBUSY)
			return 3;
		forgotten += counts.forgotten;
	}
	told->forgotten = forgotten;
	rl_close(rl);
	return 0;
}

static int
work(void *arg, int i)
{
	struct told *told = arg;
	int error;

	if (i == 0)
		return reset_meanwhile(told);
	error = count_up(told, i - 1);
	__atomic_add_fetch(&told->done, 1, __ATOMIC_SEQ_CST);
	return error;
}

static uint64_t
told_value(const struct told *told, size_t value)
{
	uint64_t times = 0;

	for (int i = 0; i < PROCESSES; i++)
		times += told->times[i][value];
	return times;
}

static void
test_beside_processes(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = 4};
	struct told *told = test_shared(sizeof *told);
	struct rl_count count;
	struct rl *rl;
	int space;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	space = rl_define_counters(rl, "space");
	test_fork(PROCESSES + 1, work, told);
	at_counter_get(rl, space, "k", 1, T0, &count);
	assert_int_equal(told_value(told, 1), told->forgotten + (count.value > 0));
	for (size_t v = 1; v < PROCESSES * KEY_COUNTS; v++) /* no life skips or repeats one */
		assert_true(told_value(told, v) >= told_value(told, v + 1));
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_charge_meanwhile),
		cmocka_unit_test(test_a_rule_in_its_rows),
		cmocka_unit_test(test_a_key_in_its_slot),
		cmocka_unit_test(test_a_slot_that_keeps_changing),
		cmocka_unit_test_teardown(test_beside_processes, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
