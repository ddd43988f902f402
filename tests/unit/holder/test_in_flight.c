/* SPDX-License-Identifier: BSD-2-Clause */
/* Concurrency limits, and that it comes back when its holder ends. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithm/in_flight.h"
#include "at.h"
#include "audit.h"
#include "rl_http.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOLDERS 5
#define HOLDS 64

static struct rl_limit
in_flight(uint32_t capacity)
{
	return (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = capacity};
}

static int
define(struct rl *rl, struct rl_limit limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});

	assert_true(rule >= 0);
	return rule;
}

static struct rl *
open_with(const struct rl_options *options)
{
	static const struct rl_options usual = {.ring = 64};
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), options ? options : &usual, &rl), 0);
	return rl;
}

static enum rl_verdict
acquire(struct rl *rl, int rule, const char *key, uint64_t cost, struct rl_hold *hold,
        struct rl_result *r)
{
	struct rl_charges charges;
	enum rl_verdict verdict = test_check_at(rl, rule, key, strlen(key), cost, T0, r, &charges);

	memset(hold, 0, sizeof *hold);
	assert_int_equal(rl_holds(&charges, hold, 1), verdict == RL_ALLOWED);
	assert_int_equal(charges.count, 0);
	return verdict;
}

static uint32_t
used(struct rl *rl, int rule, const char *key)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), T0, &r);
	return r.used;
}

/* The definition: what of a key is held, by whichever holds. */
struct naive {
	uint32_t capacity;
	uint32_t total;
	unsigned count;
	struct {
		struct rl_hold hold;
		uint32_t cost; /* 0: given back, or forgotten */
	} held[HOLDS];
};

static void
expect_same(const struct naive *n, const struct rl_result *r)
{
	assert_int_equal(r->limit, n->capacity);
	assert_int_equal(r->used, n->total);
	assert_int_equal(r->remaining, n->total < n->capacity ? n->capacity - n->total : 0);
	assert_int_equal(r->retry_after_ns, 0);
	assert_int_equal(r->reset_after_ns, 0);
	assert_int_equal(r->window_ns, 0);
	assert_int_equal(r->delay_ns, 0);
}

static void
naive_acquire(struct naive *n, struct rl *rl, int rule, uint32_t cost)
{
	enum rl_verdict expected = n->total + cost <= n->capacity ? RL_ALLOWED : RL_DENIED;
	struct rl_hold hold;
	struct rl_result r;

	assert_int_equal(acquire(rl, rule, "k", cost, &hold, &r), expected);
	if (expected == RL_ALLOWED) {
		n->total += cost;
		n->held[n->count].hold = hold;
		n->held[n->count++].cost = cost;
	}
	expect_same(n, &r);
}

/* By any handle, once or twice. */
static void
naive_release(struct naive *n, struct rl *rl, unsigned i)
{
	assert_int_equal(rl_release(rl, &n->held[i].hold, 1), n->held[i].cost > 0);
	assert_int_equal(rl_release(rl, &n->held[i].hold, 1), 0);
	n->total -= n->held[i].cost;
	n->held[i].cost = 0;
}

static void
naive_reset(struct naive *n, struct rl *rl, int rule)
{
	assert_true(rl_reset(rl, rule, "k", 1) >= 0);
	for (unsigned i = 0; i < n->count; i++)
		n->held[i].cost = 0;
	n->total = 0;
}

static void
naive_step(struct naive *n, struct rl *const *rl, int rule, uint64_t *seed)
{
	struct rl *one = rl[test_below(seed, HOLDERS)];
	uint64_t what = test_below(seed, 100);

	if (what < 45 && n->count < HOLDS)
		naive_acquire(n, one, rule, 1 + (uint32_t)test_below(seed, n->capacity));
	else if (what < 92 && n->count > 0)
		naive_release(n, one, (unsigned)test_below(seed, n->count));
	else if (what < 94)
		naive_reset(n, one, rule);
	else if (what < 97)
		assert_true(rl_sweep_at(one, T0) >= 0);
	else
		define(one, in_flight(n->capacity = 1 + (uint32_t)test_below(seed, 12)));
}

/* Several handles are several holders, of one process. */
static void
test_beside_its_definition(void **state)
{
	struct rl_options options = {.keys = 100, .ring = 64};
	struct rl *rl[HOLDERS];
	uint64_t seed = 7;
	int rule;

	(void)state;
	for (int i = 0; i < HOLDERS; i++)
		rl[i] = open_with(&options);
	for (uint64_t round = 0; round < test_scaled(2000); round++) {
		struct naive n = {.capacity = 1 + (uint32_t)test_below(&seed, 12)};

		rule = define(rl[0], in_flight(n.capacity));
		for (int step = 0; step < 150; step++) {
			naive_step(&n, rl, rule, &seed);
			assert_int_equal(used(rl[0], rule, "k"), n.total);
		}
		for (unsigned i = 0; i < n.count; i++)
			naive_release(&n, rl[i % HOLDERS], i);
		assert_int_equal(used(rl[0], rule, "k"), 0);
		audit_assert_whole(rl[0]);
	}
	for (int i = 0; i < HOLDERS; i++)
		rl_close(rl[i]);
}

/* A child that takes `cost` units, says so, and is killed. */
static pid_t
take_in_child(struct rl *rl, int rule, const char *key, uint64_t cost)
{
	int *taken = test_shared(sizeof *taken);
	pid_t pid = fork();

	if (pid == 0) {
		struct rl_charges charges;
		enum rl_verdict verdict =
			test_check_at(rl, rule, key, strlen(key), cost, T0, NULL, &charges);
		__atomic_store_n(taken, verdict == RL_ALLOWED ? 1 : 2, __ATOMIC_SEQ_CST);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	while (__atomic_load_n(taken, __ATOMIC_SEQ_CST) == 0)
		usleep(100);
	assert_int_equal(*taken, 1);
	return pid;
}

static void
end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Longer than a process is believed to be alive without another look. */
static void
wait_for_a_look(void)
{
	usleep(120000);
}

static void
test_comes_back_when_its_holder_is_killed(void **state)
{
	struct rl *rl = open_with(NULL);
	int rule = define(rl, in_flight(3));
	struct rl_hold hold;
	struct rl_result r;
	pid_t one = take_in_child(rl, rule, "k", 2), other = take_in_child(rl, rule, "k", 1);

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_DENIED);
	assert_int_equal(r.used, 3);
	end(one);
	wait_for_a_look();
	assert_int_equal(used(rl, rule, "k"), 3); /* a peek only reads */
	assert_int_equal(acquire(rl, rule, "k", 3, &hold, &r), RL_DENIED);
	assert_int_equal(r.used, 1);
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_reclaimed), 2);
	end(other);
	wait_for_a_look();
	assert_int_equal(rl_sweep_at(rl, T0), 0);
	assert_int_equal(used(rl, rule, "k"), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_reclaimed), 3);
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	audit_assert_whole(rl);
	rl_close(rl);
}

/* One that nobody has waited for is dead, too; one that is stopped is not. */
static void
test_a_zombie_and_a_stopped_one(void **state)
{
	struct rl *rl = open_with(NULL);
	int rule = define(rl, in_flight(2));
	struct rl_hold hold;
	struct rl_result r;
	pid_t zombie = take_in_child(rl, rule, "k", 1), stopped = take_in_child(rl, rule, "k", 1);

	(void)state;
	assert_int_equal(kill(stopped, SIGSTOP), 0);
	assert_int_equal(kill(zombie, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)zombie, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_DENIED);
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_ALLOWED);
	assert_int_equal(waitpid(zombie, NULL, 0), zombie);
	end(stopped);
	rl_close(rl);
}

/* Of another pid namespace: its first process starts the holder, and ends it when it is told to. */
static void
hold_elsewhere(struct rl *rl, int rule, volatile int *step)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		_exit(2);
	if (fork() > 0) {
		wait(NULL);
		_exit(0);
	}
	pid = fork();
	if (pid == 0) {
		struct rl_charges charges;

		test_check_at(rl, rule, "k", 1, 2, T0, NULL, &charges);
		*step = 1;
		for (;;)
			pause();
	}
	while (*step < 2)
		usleep(1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	*step = 3;
	while (*step < 4)
		usleep(1000);
	_exit(0);
}

/* A request cannot judge it, and a sweep from above can. */
static void
test_a_holder_elsewhere(void **state)
{
	volatile int *step = test_shared(sizeof *step);
	struct rl *rl = open_with(NULL);
	int rule = define(rl, in_flight(2));
	struct rl_hold hold;
	struct rl_result r;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		rl_close(rl);
		skip();
	}
	pid = fork();
	if (pid == 0)
		hold_elsewhere(rl, rule, step);
	while (*step < 1)
		usleep(1000);
	rl_sweep_at(rl, T0);
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_DENIED);
	*step = 2;
	while (*step < 3)
		usleep(1000);
	wait_for_a_look();
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_DENIED);
	usleep(1100000); /* as often as a sweep looks elsewhere */
	rl_sweep_at(rl, T0);
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	*step = 4;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rl_close(rl);
}

/* What a child releases is its parent's, and what its parent's seat holds is not the child's. */
static void
test_a_child_has_its_own(void **state)
{
	struct rl *rl = open_with(NULL);
	int rule = define(rl, in_flight(3)), status;
	struct rl_hold mine, its;
	struct rl_result r;
	pid_t pid;

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 2, &mine, &r), RL_ALLOWED);
	pid = fork();
	if (pid == 0) {
		struct rl_charges charges;
		struct rl_hold copy = mine;
		int ok = test_check_at(rl, rule, "k", 1, 1, T0, NULL, &charges) == RL_ALLOWED &&
		         rl_release(rl, &copy, 1) == 1;
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(used(rl, rule, "k"), 1); /* the child's, which has ended */
	assert_int_equal(rl_release(rl, &mine, 1), 0);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_release_void), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_released), 1);
	assert_int_equal(acquire(rl, rule, "k", 3, &its, &r), RL_ALLOWED);
	rl_close(rl);
}

static void
test_a_close_gives_back(void **state)
{
	struct rl *rl = open_with(NULL), *other = open_with(NULL);
	int rule = define(rl, in_flight(1));
	struct rl_hold hold, late;
	struct rl_result r;

	(void)state;
	assert_int_equal(acquire(other, rule, "k", 1, &late, &r), RL_ALLOWED);
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_DENIED);
	rl_close(other);
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_ALLOWED);
	assert_int_equal(rl_release(rl, &late, 1), 0); /* it was judged dead: nobody else's unit */
	assert_int_equal(used(rl, rule, "k"), 1);
	rl_close(rl);
}

static void
test_beside_rates(void **state)
{
	struct rl_limit rate = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 3, .window_ns = RL_SECOND};
	struct rl *rl = test_private(100);
	struct rl_limit held = in_flight(2);
	int rule = rl_define(
		rl, &(struct rl_rule){.name = "r", .limit = rate, .more = &held, .more_count = 1});
	struct rl_result results[RL_LIMITS_MAX], r;
	struct rl_charges charges[4];
	struct rl_hold holds[RL_LIMITS_MAX];
	struct rl_item item = {.rule = rule, .key = "k", .key_len = 1, .cost = 1};
	size_t count;

	(void)state;
	for (int i = 0; i < 2; i++) {
		item.charges = &charges[i];
		assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
		assert_int_equal(charges[i].count, 2);
	}
	item.charges = &charges[2];
	assert_int_equal(at_check_limits(rl, &item, T0, &r, &count, results), RL_DENIED);
	assert_int_equal(charges[2].count, 0);
	assert_int_equal(r.index, 1);
	assert_int_equal(results[0].used, 2); /* no rate was spent */
	assert_int_equal(rl_holds(&charges[0], holds, 0), 0);
	assert_int_equal(charges[0].count, 2);
	assert_int_equal(rl_holds(&charges[0], holds, RL_LIMITS_MAX), 1);
	assert_int_equal(charges[0].count, 1);
	assert_int_equal(rl_release(rl, holds, 1), 1);
	assert_int_equal(at_check_limits(rl, &item, T0, &r, &count, results), RL_ALLOWED);
	assert_int_equal(results[0].used, 3);                /* rl_release() leaves the rate */
	assert_int_equal(at_refund(rl, &charges[2], T0), 1); /* both come back */
	assert_int_equal(at_check_limits(rl, &item, T0, &r, &count, results), RL_ALLOWED);
	assert_int_equal(results[0].used, 3);
	assert_int_equal(results[1].used, 2);
	item.charges = &charges[3];
	assert_int_equal(at_check_limits(rl, &item, T0, &r, &count, results), RL_DENIED);
	assert_int_equal(r.index, 0); /* the one of which it is known how long */
	assert_true(r.retry_after_ns > 0);
	assert_int_equal(
		rl_refund_key(rl,
	                      &(struct rl_item){.rule = rule, .key = "k", .key_len = 1, .cost = 1}),
		0); /* of a rate that is now over */
	rl_close(rl);
}

/* Two rules at once, the one with what is in flight behind: it is charged first, and given back. */
static void
test_all_or_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int rate = test_rule(rl, "rate", 1, RL_SECOND, 0, false);
	int held = rl_define(rl, &(struct rl_rule){.name = "held", .limit = in_flight(5)});
	struct rl_charges charges[2];
	struct rl_item items[] = {
		{.rule = rate, .key = "k", .key_len = 1, .cost = 1, .charges = &charges[0]},
		{.rule = held, .key = "k", .key_len = 1, .cost = 2, .charges = &charges[1]},
	};
	struct rl_result results[2];
	size_t decided;

	(void)state;
	assert_int_equal(at_check_all(rl, items, 2, T0, results, &decided), RL_ALLOWED);
	assert_int_equal(charges[1].count, 1);
	assert_int_equal(used(rl, held, "k"), 2);
	assert_int_equal(at_check_all(rl, items, 2, T0, results, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_int_equal(used(rl, held, "k"), 2);
	rl_close(rl);
}

/*
 * Before one of several limits denies by what the dead hold, it is given back. A peek gives
 * nothing.
 */
static void
test_the_dead_beside_rates(void **state)
{
	struct rl *rl = open_with(NULL), *other = open_with(NULL);
	struct rl_limit rate = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 9, .window_ns = RL_SECOND};
	struct rl_limit held = in_flight(2);
	int rule = rl_define(
		rl, &(struct rl_rule){.name = "r", .limit = rate, .more = &held, .more_count = 1});
	struct rl_charges charges;
	struct rl_result r;

	(void)state;
	assert_int_equal(test_check_at(other, rule, "k", 1, 2, T0, &r, &charges), RL_ALLOWED);
	rl_close(other);
	assert_int_equal(at_peek(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 1000}, 0), 0);
	assert_int_equal(at_peek(rl, rule, "k", 1, T0, &r), RL_DENIED); /* while keys move */
	assert_int_equal(test_counter(rl, rule, RL_COUNT_reclaimed), 0);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 2, T0, &r, &charges), RL_ALLOWED);
	assert_int_equal(charges.count, 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_reclaimed), 2);
	rl_close(rl);
}

/* A tag that somebody who slept made LEAVING: what is held there is held, and can be given back. */
static void
test_a_slot_that_is_settled(void **state)
{
	struct rl *rl = test_private(100);
	int rule = define(rl, in_flight(2));
	struct rl_hold hold, copy;
	struct rl_result r;
	uint64_t *tag = NULL;

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		if (*rl_table_tag(&rl->segment.table, i) != 0)
			tag = rl_table_tag(&rl->segment.table, i);
	assert_non_null(tag);
	*tag &= ~(UINT64_C(3) << RL_TAG_STATUS_SHIFT);
	copy = hold;
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	assert_int_equal(used(rl, rule, "k"), 0);
	assert_int_equal(rl_release(rl, &copy, 1), 0);
	audit_assert_whole(rl);
	rl_close(rl);
}

/* Another key's, which has the slot now. */
static void
test_a_slot_of_another_key(void **state)
{
	struct rl *rl = test_private(1);
	int rule = define(rl, in_flight(2));
	struct rl_hold hold, others[64];
	struct rl_result r;
	char key[16];

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	for (int i = 0; i < 14; i++) {
		snprintf(key, sizeof key, "%d", i);
		assert_int_equal(acquire(rl, rule, key, 2, &others[i], &r), RL_ALLOWED);
	}
	assert_int_equal(rl_release(rl, &hold, 1), 0);
	for (int i = 0; i < 14; i++)
		assert_int_equal(rl_release(rl, &others[i], 1), 1);
	rl_close(rl);
}

/* A copy takes another unit of the same process, and no more than it has. */
static void
test_a_copy(void **state)
{
	struct rl *rl = test_private(100);
	int rule = define(rl, in_flight(9));
	struct rl_hold two, copy, one;
	struct rl_result r;

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 2, &two, &r), RL_ALLOWED);
	assert_int_equal(acquire(rl, rule, "k", 1, &one, &r), RL_ALLOWED);
	copy = two;
	assert_int_equal(rl_release(rl, &two, 1), 1);
	assert_int_equal(rl_release(rl, &copy, 1), 0);
	assert_int_equal(used(rl, rule, "k"), 1);
	assert_int_equal(rl_release(rl, &one, 1), 1);
	rl_close(rl);
}

/* A hold that is none: of a rate, and as the bytes happen to be. */
static void
test_what_is_no_hold(void **state)
{
	struct rl *rl = test_private(100);
	int rate = test_rule(rl, "rate", 5, RL_SECOND, 0, false);
	uint64_t seed = 1;
	struct rl_charges charges;
	struct rl_hold hold = {0};

	(void)state;
	assert_int_equal(rl_release(rl, &hold, 1), 0);
	assert_int_equal(test_check_at(rl, rate, "k", 1, 1, T0, NULL, &charges), RL_ALLOWED);
	assert_int_equal(rl_holds(&charges, &hold, 1), 0);
	hold.charge = charges.charge[0];
	assert_int_equal(rl_release(rl, &hold, 1), 0);
	charges.charge[0] = hold.charge; /* a charge as before */
	assert_int_equal(at_refund(rl, &charges, T0), 1);
	assert_int_equal(test_check_at(rl, rate, "k", 1, 1, T0, NULL, &charges), RL_ALLOWED);
	for (int i = 0; i < 10000; i++) {
		unsigned char *byte = (unsigned char *)&hold;
		for (size_t b = 0; b < sizeof hold; b++)
			byte[b] = (unsigned char)test_random(&seed);
		hold.charge.limit %= 4;
		hold.charge.place |= 0x80;
		assert_int_equal(rl_release(rl, &hold, 1), 0);
	}
	assert_int_equal(used(rl, rate, "k"), 1);
	rl_close(rl);
}

static void
test_what_is_refused(void **state)
{
	struct rl *rl = open_with(NULL), *reader;
	int rule = define(rl, in_flight(2));
	struct rl_hold hold;
	struct rl_result r;

	(void)state;
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, RL_ECHARGES);
	assert_int_equal(used(rl, rule, "k"), 0);
	assert_int_equal(at_reserve(rl, rule, "k", 1, 1, RL_SECOND, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_UNDECIDED); /* it is kept */
	assert_int_equal(r.error, RL_ECHARGES);
	assert_int_equal(acquire(rl, rule, "k", 3, &hold, &r), RL_NEVER);
	assert_int_equal(rl_restore_at(rl, rule, 0, "k", 1, 1, T0), -EINVAL);
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	assert_int_equal(
		rl_refund_key(rl,
	                      &(struct rl_item){.rule = rule, .key = "k", .key_len = 1, .cost = 1}),
		0);
	reader = open_with(&(struct rl_options){.flags = RL_OPEN_READONLY});
	assert_int_equal(used(reader, rule, "k"), 2);
	assert_int_equal(rl_release(reader, &hold, 1), -EROFS);
	assert_int_equal(acquire(reader, rule, "k", 1, &(struct rl_hold){0}, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EROFS);
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	rl_close(reader);
	rl_close(rl);
}

static void
expect_bad(struct rl *rl, struct rl_limit limit, const char *expected)
{
	struct rl_rule rule = {.name = "bad", .limit = limit};
	char text[RL_RULE_TEXT_SIZE];

	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	assert_int_equal(rl_rule_check(&rule, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, expected);
}

static void
test_what_cannot_be(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_limit limit = in_flight(RL_IN_FLIGHT_MAX);

	(void)state;
	define(rl, limit);
	limit.capacity++;
	expect_bad(rl, limit, "limit.capacity: 1048576; 1 to 1048575 is allowed");
	limit = in_flight(1);
	limit.window_ns = RL_SECOND;
	expect_bad(rl, limit, "limit.window_ns: 1000000000; in_flight has none, 0 is allowed");
	limit = in_flight(1);
	limit.burst = 1;
	expect_bad(rl, limit,
	           "limit.burst: 1; only token_bucket and leaky_bucket have it, 0 is allowed");
	limit = in_flight(1);
	limit.prefetch = 1;
	expect_bad(rl, limit,
	           "limit.prefetch: 1; only sliding_window and fixed_window have it, 0 is allowed");
	limit = in_flight(1);
	limit.hard = 1;
	expect_bad(rl, limit, "limit.hard: only sliding_window has it, 0 is allowed");
	rl_close(rl);
}

/*
 * As on_full says where there is no seat, or no place in the key's ring; then the dead make room.
 */
static void
test_no_room_for_a_holder(void **state)
{
	static const enum rl_verdict answers[] = {
		[RL_FULL_RESERVE] = RL_DENIED,
		[RL_FULL_DENY] = RL_DENIED,
		[RL_FULL_ALLOW] = RL_ALLOWED,
	};

	(void)state;
	for (int seats = 0; seats < 2; seats++) {
		for (int full = RL_FULL_RESERVE; full <= RL_FULL_ALLOW; full++) {
			struct rl_options options = {.keys = 100,
			                             .ring = seats ? 8 : 2,
			                             .holders = seats ? 1 : 8,
			                             .on_full = (enum rl_on_full)full};
			struct rl *one = open_with(&options), *two = open_with(&options);
			struct rl *first = seats ? NULL : open_with(&options);
			int rule = define(one, in_flight(5));
			struct rl_charges charges;
			struct rl_hold hold;
			struct rl_result r;

			if (first)
				assert_int_equal(acquire(first, rule, "k", 1, &hold, &r),
				                 RL_ALLOWED);
			assert_int_equal(acquire(one, rule, "k", 1, &hold, &r), RL_ALLOWED);
			assert_int_equal(test_check_at(two, rule, "k", 1, 1, T0, &r, &charges),
			                 answers[full]);
			assert_int_equal(r.error, -ENOSPC);
			assert_int_equal(r.retry_after_ns, 0);
			assert_int_equal(charges.count, 0);
			assert_int_equal(test_counter(one, rule, RL_COUNT_holders_full), 1);
			assert_int_equal(used(one, rule, "k"), seats ? 1 : 2);
			rl_close(one);
			if (seats) /* where there was none, none is looked for at once */
				wait_for_a_look();
			assert_int_equal(acquire(two, rule, "k", seats ? 4 : 3, &hold, &r),
			                 RL_ALLOWED);
			assert_int_equal(r.used, 4 + seats);
			audit_assert_whole(two);
			rl_close(first);
			rl_close(two);
			assert_int_equal(rl_unlink(test_segment_name()), 0);
		}
	}
}

/* A place in the ring is another's once it is empty. */
static void
test_places_are_used_again(void **state)
{
	struct rl_options options = {.keys = 100, .ring = 2};
	struct rl *rl[3];
	struct rl_hold hold[3];
	struct rl_result r;
	int rule;

	(void)state;
	for (int i = 0; i < 3; i++)
		rl[i] = open_with(&options);
	rule = define(rl[0], in_flight(5));
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 3; i++) {
			int other = (i + 1) % 3;
			assert_int_equal(acquire(rl[i], rule, "k", 1, &hold[i], &r), RL_ALLOWED);
			assert_int_equal(acquire(rl[other], rule, "k", 2, &hold[other], &r),
			                 RL_ALLOWED);
			assert_int_equal(r.used, 3);
			audit_assert_whole(rl[0]);
			assert_int_equal(rl_release(rl[2], &hold[i], 1), 1);
			assert_int_equal(rl_release(rl[2], &hold[other], 1), 1);
		}
	for (int i = 0; i < 3; i++)
		rl_close(rl[i]);
}

/* In a table that is full: a key of which units are held stays, whatever its share; others go. */
static void
test_held_keys_keep_their_slots(void **state)
{
	struct rl *rl = open_with(&(struct rl_options){.keys = 1, .ring = 64});
	int rule = define(rl, in_flight(100)), held = 0, tries = 400;
	static struct rl_hold hold[400];
	struct rl_info info;
	struct rl_result r;
	char key[16];

	(void)state;
	rl_info(rl, &info);
	for (int i = 0; i < tries; i++) {
		struct rl_charges charges;

		snprintf(key, sizeof key, "%d", i);
		if (test_check_at(rl, rule, key, strlen(key), 1, T0, &r, &charges) == RL_ALLOWED)
			held += (int)rl_holds(&charges, &hold[held], 1);
		else
			assert_int_equal(r.error, -ENOSPC);
	}
	assert_true(held > 0 && (uint64_t)held <= info.slots);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 0);
	assert_int_equal(rl_sweep_at(rl, T0 + 1000 * RL_SECOND), 0);
	for (int i = 0; i < held; i++)
		assert_int_equal(rl_release(rl, &hold[i], 1), 1);
	assert_int_equal(acquire(rl, rule, "new", 1, &hold[0], &r), RL_ALLOWED);
	rl_close(rl);
}

static void
test_a_sweep_passes_once(void **state)
{
	struct rl *rl = test_private(100);
	int rule = define(rl, in_flight(2));
	uint64_t late = T0 + RL_SECOND * 1000;
	struct rl_hold hold;
	struct rl_result r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_ALLOWED);
		assert_int_equal(rl_sweep_at(rl, late), 0);
		assert_int_equal(rl_release(rl, &hold, 1), 1);
		assert_int_equal(rl_sweep_at(rl, late), 0);
	}
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), 1);
	assert_int_equal(rl_sweep_at(rl, late), 1);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* One that is in force no more counts nothing: its keys go though they are held. */
static void
test_a_limit_that_goes(void **state)
{
	struct rl_limit rate = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 3, .window_ns = RL_SECOND};
	struct rl *rl = test_private(100);
	int rule = define(rl, in_flight(2));
	struct rl_hold hold, other;
	struct rl_result r;

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 2, &hold, &r), RL_ALLOWED);
	define(rl, rate);
	assert_int_equal(rl_sweep_at(rl, T0), 1);
	assert_int_equal(rl_release(rl, &hold, 1), 0);
	define(rl, in_flight(2));
	assert_int_equal(used(rl, rule, "k"), 0);
	assert_int_equal(acquire(rl, rule, "k", 2, &other, &r), RL_ALLOWED);
	rl_close(rl);
}

static int
note_holder(const struct rl_holder *holder, void *arg)
{
	struct rl_holder *seen = arg;

	seen[holder->units] = *holder;
	return 0;
}

static void
test_who_holds(void **state)
{
	struct rl_holder seen[4] = {{0}};
	struct rl *rl = open_with(NULL);
	int rule = define(rl, in_flight(9));
	pid_t alive = take_in_child(rl, rule, "k", 1), dead = take_in_child(rl, rule, "k", 2);
	struct rl_hold hold;
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_holders_walk(rl, rule, "none", 4, note_holder, seen), -ENOENT);
	assert_int_equal(acquire(rl, rule, "k", 3, &hold, &r), RL_ALLOWED);
	end(dead);
	assert_int_equal(rl_holders_walk(rl, rule, "k", 1, note_holder, seen), 0);
	assert_int_equal(seen[1].pid, alive);
	assert_int_equal(seen[1].state, RL_HOLDER_ALIVE);
	assert_int_equal(seen[2].units, 2);
	assert_int_equal(seen[2].state, RL_HOLDER_DEAD);
	assert_int_equal(seen[3].pid, getpid());
	end(alive);
	rl_close(rl);
}

/* Whatever else a rule can have. */
static void
test_for_single_keys(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_limit limit = in_flight(1);
	struct rl_charges charges;
	struct rl_hold hold;
	struct rl_result r;
	struct rl_item item = {
		.key = "k", .key_len = 1, .cost = 2, .capacity = 3, .charges = &charges};
	struct rl_pattern pattern = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1};
	int rule = define(rl, limit);

	(void)state;
	item.rule = rule;
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	assert_int_equal(at_refund(rl, &charges, T0), 1);
	item.capacity = RL_IN_FLIGHT_MAX + 1;
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(rl_allow(rl, rule, &pattern, RL_NEVER_NS), 0);
	item = (struct rl_item){
		.rule = rule, .key = "k", .key_len = 1, .cost = 2, .charges = &charges};
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
	assert_int_equal(rl_holds(&charges, &hold, 1), 0);
	assert_int_equal(rl_ban(rl, rule, &pattern, RL_NEVER_NS), 0);
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_DENIED);
	assert_int_equal(rl_unban(rl, rule, &pattern), 1);
	limit.shadow = 1;
	define(rl, limit);
	item.cost = 1;
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
	assert_int_equal(charges.count, 1);
	assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
	assert_true(r.is_shadow_denied);
	assert_int_equal(charges.count, 0);
	rl_close(rl);
}

static void
test_counts_networks(void **state)
{
	struct rl_limit limit = in_flight(2);
	struct rl *rl = test_private(100);
	struct rl_hold one, two;
	struct rl_result r;
	int rule;

	(void)state;
	limit.prefix_v4 = 24;
	rule = define(rl, limit);
	assert_int_equal(acquire(rl, rule, "192.0.2.1", 1, &one, &r), RL_ALLOWED);
	assert_int_equal(acquire(rl, rule, "192.0.2.2", 1, &two, &r), RL_ALLOWED);
	assert_int_equal(acquire(rl, rule, "192.0.2.3", 1, &(struct rl_hold){0}, &r), RL_DENIED);
	assert_int_equal(rl_release(rl, &one, 1), 1);
	assert_int_equal(acquire(rl, rule, "192.0.2.3", 1, &one, &r), RL_ALLOWED);
	rl_close(rl);
}

/* Nobody knows when a unit comes back, so no field of an answer says so. */
static void
test_headers(void **state)
{
	struct rl *rl = test_private(100);
	int rule = define(rl, in_flight(1));
	struct rl_http_triple triple;
	struct rl_hold hold;
	struct rl_result r;
	struct rl_http_limit limit = {.name = "r", .result = &r};
	struct rl_http_policy policy = {.name = "r", .quota = 1, .unit = "concurrent-requests"};
	char text[64];

	(void)state;
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_ALLOWED);
	rl_http_ratelimit(RL_HTTP_IETF_11, &limit, 1, text, sizeof text);
	assert_string_equal(text, "\"r\";r=0");
	assert_int_equal(acquire(rl, rule, "k", 1, &hold, &r), RL_DENIED);
	assert_int_equal(rl_http_retry_after(&r, text, sizeof text), 0);
	rl_http_ratelimit(RL_HTTP_IETF_11, &limit, 1, text, sizeof text);
	assert_string_equal(text, "\"r\";r=0");
	rl_http_ratelimit_policy(RL_HTTP_IETF_11, &policy, 1, text, sizeof text);
	assert_string_equal(text, "\"r\";q=1;qu=\"concurrent-requests\"");
	assert_int_equal(rl_http_x_ratelimit(&r, RL_HTTP_RESET_DELTA, T0, &triple), 1);
	assert_string_equal(triple.remaining, "0");
	assert_string_equal(triple.reset, "");
	rl_close(rl);
}

/* Whatever another algorithm, or an earlier incarnation, has left in the slot. */
static void
test_where_a_sequence_begins(void **state)
{
	const struct rl_u128 words[] = {{0, 0}, {UINT64_MAX, UINT64_MAX}, {T0 << 8, T0}};

	(void)state;
	for (int gen = 0; gen < 256; gen++)
		for (int i = 0; i < 3; i++) {
			struct rl_in_flight f =
				rl_in_flight_unpack(words[i], true, (uint8_t)gen, 64);
			assert_int_equal(f.seq, gen << 16);
			assert_int_equal(f.total + f.used + f.place + f.newest.units, 0);
		}
}

/* Without memory for the limit it is held still, and the hold stays one. */
static void
test_a_release_without_memory(void **state)
{
	struct rl_charges charges;
	struct rl_hold hold;
	struct rl *one, *other;
	uint64_t compiled;
	int rule;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &one), 0);
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &other), 0);
	rule = rl_define(one,
	                 &(struct rl_rule){.name = "r",
	                                   .limit = {.algorithm = RL_IN_FLIGHT, .capacity = 1}});
	assert_int_equal(test_check_at(one, rule, "k", 1, 1, T0, NULL, &charges), RL_ALLOWED);
	assert_int_equal(rl_holds(&charges, &hold, 1), 1);
	compiled = other->handle->compiled;
	other->handle->compiled = UINT64_MAX / 2;
	assert_int_equal(rl_release(other, &hold, 1), -ENOMEM);
	other->handle->compiled = compiled;
	assert_int_equal(rl_release(other, &hold, 1), 1);
	assert_int_equal(rl_release(other, &hold, 1), 0);
	rl_close(other);
	rl_close(one);
}

#define EXECS 40
#define EXECS_LEFT "RL_TEST_EXECS_LEFT"

/* What such a program does: it holds a unit when it begins anew. */
static int
run_again(int left)
{
	const struct rl_options options = {.ring = 64, .holders = 12};
	char *arguments[] = {(char *)"test", NULL};
	struct rl_charges charges;
	char text[16];
	struct rl *rl;
	int rule;

	if (rl_open(test_segment_name(), &options, &rl) < 0)
		return 2;
	rule = rl_define(
		rl, &(struct rl_rule){.name = "r",
	                              .limit = {.algorithm = RL_IN_FLIGHT, .capacity = EXECS}});
	if (test_check_at(rl, rule, "k", 1, 1, rl_now(rl), NULL, &charges) != RL_ALLOWED)
		return 3;
	if (left == 0)
		return 0;
	snprintf(text, sizeof text, "%d", left - 1);
	setenv(EXECS_LEFT, text, 1);
	execv("/proc/self/exe", arguments);
	return 4;
}

/* A program that calls exec(2) again and again holds what it held, and leaves seats for others. */
static void
test_exec_again_and_again(void **state)
{
	const struct rl_options options = {.ring = 64, .holders = 12};
	struct rl_result r;
	struct rl *rl;
	int status, rule;
	pid_t pid;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &options, &rl), 0);
	setenv("RL_TEST_SEGMENT", test_segment_name(), 1);
	pid = fork();
	if (pid == 0)
		_exit(run_again(EXECS - 1));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rule = rl_find(rl, "r");
	at_peek(rl, rule, "k", 1, rl_now(rl), &r);
	assert_int_equal(r.used, EXECS); /* nothing came back while it lived */
	rl_sweep_at(rl, rl_now(rl));
	at_peek(rl, rule, "k", 1, rl_now(rl), &r);
	assert_int_equal(r.used, 0);
	rl_close(rl);
}

/* Their keys have yet to move, and each sweep is by slices of a table of another size. */
static void
test_a_sweep_while_keys_move(void **state)
{
	const uint32_t sizes[] = {20, 1000};
	char key[16];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rl *rl = open_with(NULL);
		int rule = define(rl, in_flight(3));
		struct rl_swept swept = {0};

		for (int k = 0; k < 5; k++) {
			snprintf(key, sizeof key, "k%d", k);
			end(take_in_child(rl, rule, key, 2));
		}
		wait_for_a_look();
		assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = sizes[i]}, 0), 0);
		for (uint64_t slot = 0; rl_sweep_slots_at(rl, slot, 3, T0, &swept) == 0; slot += 3)
			;
		assert_int_equal(test_counter(rl, rule, RL_COUNT_reclaimed), 10);
		for (int k = 0; k < 5; k++) {
			snprintf(key, sizeof key, "k%d", k);
			assert_int_equal(used(rl, rule, key), 0);
		}
		rl_close(rl);
		test_unlink(state);
	}
}

int
main(void)
{
	const char *left = getenv(EXECS_LEFT);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_release_without_memory, test_unlink),
		cmocka_unit_test_teardown(test_exec_again_and_again, test_unlink),
		cmocka_unit_test(test_where_a_sequence_begins),
		cmocka_unit_test_teardown(test_beside_its_definition, test_unlink),
		cmocka_unit_test_teardown(test_comes_back_when_its_holder_is_killed, test_unlink),
		cmocka_unit_test_teardown(test_a_sweep_while_keys_move, test_unlink),
		cmocka_unit_test_teardown(test_a_zombie_and_a_stopped_one, test_unlink),
		cmocka_unit_test_teardown(test_a_holder_elsewhere, test_unlink),
		cmocka_unit_test_teardown(test_a_child_has_its_own, test_unlink),
		cmocka_unit_test_teardown(test_a_close_gives_back, test_unlink),
		cmocka_unit_test(test_beside_rates),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test_teardown(test_what_is_refused, test_unlink),
		cmocka_unit_test_teardown(test_the_dead_beside_rates, test_unlink),
		cmocka_unit_test(test_a_slot_that_is_settled),
		cmocka_unit_test(test_a_slot_of_another_key),
		cmocka_unit_test(test_a_copy),
		cmocka_unit_test(test_what_is_no_hold),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_no_room_for_a_holder),
		cmocka_unit_test_teardown(test_places_are_used_again, test_unlink),
		cmocka_unit_test_teardown(test_held_keys_keep_their_slots, test_unlink),
		cmocka_unit_test(test_a_sweep_passes_once),
		cmocka_unit_test(test_a_limit_that_goes),
		cmocka_unit_test_teardown(test_who_holds, test_unlink),
		cmocka_unit_test(test_for_single_keys),
		cmocka_unit_test(test_counts_networks),
		cmocka_unit_test(test_headers),
	};

	if (left)
		_exit(run_again(atoi(left)));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
