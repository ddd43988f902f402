/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetched units, under chosen schedules (see schedule.h). Each worker has a store of its own, as
 * a process has, on one mapping of one segment.
 */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "decide/prefetch.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define PREFETCH 4
#define LEAST (16 * PREFETCH) /* capacity that allows it */
#define OPEN 18               /* what the workers may prefetch of */
#define COST_MAX 2
#define EPOCHS 3

static struct rl *rl;
static struct rl process[WORKERS];
static struct rl_handle handle[WORKERS];
static int rule;
static uint32_t capacity, before; /* of which so much was admitted before the run */

static struct {
	uint32_t admitted[EPOCHS]; /* in this run, by sub-bucket */
	uint32_t since;            /* by requests that began when the change was in force */
	bool is_changed;
} done;

static void
make_processes(void)
{
	const struct rl_options o = {.keys = 12, .bans = 4, .rules = 2};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	for (int i = 0; i < WORKERS; i++) {
		process[i] = *rl;
		handle[i] = *rl->handle;
		handle[i].first = &process[i];
		handle[i].newest = &process[i];
		handle[i].prefetched = rl_prefetch_make();
		assert_non_null(handle[i].prefetched);
		process[i].handle = &handle[i];
		process[i].here = &process[i];
	}
	before = LEAST;
	capacity = before + OPEN + rl->segment.geometry.stripes * PREFETCH;
}

static void
end_processes(void)
{
	for (int i = 0; i < WORKERS; i++)
		rl_prefetch_free(handle[i].prefetched);
	rl_close(rl);
}

static void
define(uint32_t most, uint16_t prefetch)
{
	const struct rl_rule r = {.name = "r",
	                          .limit = {.algorithm = RL_FIXED_WINDOW,
	                                    .capacity = most,
	                                    .window_ns = RL_SECOND,
	                                    .prefetch = prefetch}};

	rule = rl_define(rl, &r);
}

static bool
charge(struct rl *by, uint64_t cost, uint64_t now_ns, struct rl_charges *charges)
{
	struct rl_result r;

	return test_check_at(by, rule, "k", 1, cost, now_ns, &r, charges) == RL_ALLOWED;
}

static void
start(void)
{
	memset(&done, 0, sizeof done);
	rl_reset(rl, rule, "k", 1);
	for (int i = 0; i < WORKERS; i++)
		memset(handle[i].prefetched, 0, sizeof *handle[i].prefetched);
	for (uint32_t i = 0; i < before; i++) /* none of them prefetched */
		charge(rl, 1, T0, NULL);
	rl_prefetch_return(rl);
}

/* One request, and perhaps its refund. */
static void
request(int worker, uint64_t now_ns)
{
	uint64_t cost = 1 + test_below(&seed, COST_MAX), epoch;
	bool is_late = done.is_changed;
	struct rl_charges charges;

	if (!charge(&process[worker], cost, now_ns, &charges))
		return;
	epoch = charges.charge[0].epoch - T0 / RL_SECOND;
	if (!is_late && test_below(&seed, 4) == 0 &&
	    at_refund(&process[worker], &charges, now_ns) == 1)
		return;
	done.admitted[epoch] += (uint32_t)cost;
	done.since += is_late ? (uint32_t)cost : 0;
}

static uint64_t epochs; /* that a run's times lie in */

static void
work(int worker)
{
	uint64_t epoch = 0;

	for (int i = 0; i < 5; i++) {
		if (test_below(&seed, 6) == 0)
			rl_prefetch_return(&process[worker]);
		else
			request(worker, T0 + epoch * RL_SECOND);
		if (epoch + 1 < epochs)
			epoch += test_below(&seed, 2);
	}
}

/* What is open to whoever prefetches nothing. */
static uint32_t
drain(uint64_t now_ns)
{
	uint32_t admitted = 0;

	while (charge(rl, 1, now_ns, NULL)) {
		rl_prefetch_return(rl);
		admitted++;
	}
	return admitted;
}

static void
return_all(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fate == DONE)
			rl_prefetch_return(&process[i]);
}

/* Never more; and what the survivors give back can all be had. */
static void
audit_one_window(uint64_t run)
{
	uint32_t lost = (uint32_t)killed * (PREFETCH + COST_MAX), all;

	audit_assert_whole(rl);
	return_all();
	all = before + done.admitted[0] + drain(T0);
	if (all > capacity || all + lost < capacity)
		fail_msg("run %d: %u admitted of %u, %d killed", (int)run, all, capacity, killed);
}

static void
audit_windows(uint64_t run)
{
	audit_assert_whole(rl);
	done.admitted[EPOCHS - 1] += drain(T0 + (EPOCHS - 1) * RL_SECOND);
	for (int i = 0; i < EPOCHS; i++)
		if (done.admitted[i] + (i == 0 ? before : 0) > capacity)
			fail_msg("run %d: %u admitted in window %d", (int)run, done.admitted[i], i);
}

static void
play(uint64_t runs, bool has_kills, void (*body_of)(int worker), void (*audit)(uint64_t run))
{
	kills = has_kills;
	for (uint64_t run = 1; run <= test_scaled(runs); run++) {
		seed = run;
		define(capacity, PREFETCH);
		start();
		run_schedule(body_of);
		audit(run);
	}
	kills = false;
}

static void
test_one_window(void **state)
{
	(void)state;
	make_processes();
	epochs = 1;
	play(20000, false, work, audit_one_window);
	play(10000, true, work, audit_one_window);
	end_processes();
}

static void
test_windows(void **state)
{
	(void)state;
	make_processes();
	epochs = EPOCHS;
	play(20000, false, work, audit_windows);
	play(10000, true, work, audit_windows);
	end_processes();
}

/* Something changes once, while the others ask. */

static void (*change)(void);

static void
work_changed(int worker)
{
	for (int i = 0; i < 5; i++) {
		if (worker == 0 && i == 2) {
			change();
			done.is_changed = true;
		} else if (worker > 0) {
			request(worker, T0);
		}
	}
}

static void
reset(void)
{
	rl_reset(rl, rule, "k", 1);
}

/* After it, the capacity and no more, whoever held what. */
static void
audit_reset(uint64_t run)
{
	audit_assert_whole(rl);
	done.since += drain(T0);
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fate == DONE)
			done.since += charge(&process[i], 1, T0, NULL);
	if (done.is_changed && done.since > capacity)
		fail_msg("run %d: %u admitted since the reset", (int)run, done.since);
}

static void
lower(void)
{
	define(before / 2, PREFETCH / 2);
}

static const struct rl_pattern k = {.key = "k", .key_len = 1};

static void
ban(void)
{
	rl_ban(rl, rule, &k, RL_NEVER_NS);
}

static void
audit_nothing_since(uint64_t run)
{
	rl_unban(rl, rule, &k);
	audit_assert_whole(rl);
	if (done.since > 0)
		fail_msg("run %d: %u admitted since", (int)run, done.since);
}

static void
test_changes(void **state)
{
	(void)state;
	make_processes();
	change = reset;
	play(60000, false, work_changed, audit_reset);
	change = lower;
	play(20000, false, work_changed, audit_nothing_since);
	change = ban;
	play(20000, false, work_changed, audit_nothing_since);
	end_processes();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_window),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_changes),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
