/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts, a store of one key, and one who lends, in chosen schedules (see schedule.h): workers
 * charge and give back on either host, while shares are asked for, raised, lowered and ended, and
 * anybody may be killed anywhere. Of each algorithm that can be lent, whenever somebody is back
 * from a call:
 *
 *	a word has the share that was set last, or a smaller one was not asked for; the store has
 *	lent it what counts on a host is at most what the store has lent to it, and the blind part
 *	what counts on all is at most the capacity, and the blind part of each
 *
 * and while the clock stands, what counts is what was admitted and not given back: no change of a
 * share makes a debt, or loses one. The same while hosts resize their segments, and keys move with
 * their shares: the lender knows a key by what he was told of it two tables ago. A failure names
 * its seed, which repeats it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#define STEPS 500 /* of two hosts, and calls that read much */
#include "schedule.h"

#include "moves.h"

#define HOSTS 2
#define CAPACITY 6
#define COST_MAX 2
#define WINDOW RL_SECOND
#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct host {
	struct rl *rl;
	int rule;
	struct rl_incarnation of;
	uint32_t given; /* by the store */
	uint32_t share; /* as the last call has left it */
	bool is_changing;
	uint64_t late_ns; /* for how long changes were stopped behind their clock */
	bool has_answer;
	uint32_t answer;
	int64_t counted; /* what was admitted, and not given back */
} hosts[HOSTS];

static uint32_t blind;
static uint64_t fill_ns; /* of a bucket; 0: it is none */
static uint64_t run;
static bool moves;        /* tables change */
static uint64_t followed; /* how often a share was found in another table, in all runs */

static uint64_t
now_ns(void)
{
	return T0 + passed_ns;
}

/*
 * A key without a share that has moved is another incarnation: its wish tells it, or whoever looks
 * at all slots. One that counts nothing, either, is gone.
 */
static void
find_again(struct host *h, struct rl_share *s)
{
	int error = -ESTALE;

	for (uint64_t i = 0; error == -ESTALE; i++)
		error = rl_share_at(h->rl, i, now_ns(), s);
	if (error < 0) {
		assert_int_equal(error, -EINVAL);
		*s = (struct rl_share){.of = h->of};
		return;
	}
	assert_int_equal(s->share, 0);
	h->of = s->of;
}

/* Nobody else runs meanwhile. */
static struct rl_share
read_alone(struct host *h)
{
	struct rl_share s = {0};
	int worker = current, error;

	current = -1;
	error = rl_share_read(h->rl, &h->of, now_ns(), &s);
	if (error == -ESTALE && moves)
		find_again(h, &s);
	else
		assert_int_equal(error, 0);
	followed += s.of.table != h->of.table;
	if (run % 2 == 0)
		h->of = s.of;
	current = worker;
	return s;
}

/* A bucket's change by an old clock knows nothing of what was paid since, and errs to deny. */
static uint32_t
unpaid(const struct host *h)
{
	return fill_ns == 0 ? 0 : (uint32_t)((CAPACITY * h->late_ns + fill_ns - 1) / fill_ns);
}

static void
look(void)
{
	uint32_t all = 0;

	for (int i = 0; i < HOSTS; i++) {
		struct host *h = &hosts[i];
		struct rl_share s = read_alone(h);

		if (!h->is_changing && s.share != h->share)
			fail_msg("run %llu: host %d has a share of %u, and %u was set",
			         (unsigned long long)run, i, s.share, h->share);
		s.load -= s.load < unpaid(h) ? s.load : unpaid(h);
		if (s.share > h->given || s.load > h->given + blind)
			fail_msg("run %llu: host %d has a share of %u and counts %u; %u is lent",
			         (unsigned long long)run, i, s.share, s.load, h->given);
		all += s.load;
	}
	if (all > CAPACITY + HOSTS * blind)
		fail_msg("run %llu: all hosts count %u", (unsigned long long)run, all);
}

static void
charge(struct host *h)
{
	uint32_t cost = 1 + (uint32_t)test_below(&seed, COST_MAX);
	struct rl_charges charges = {0};
	struct rl_item item = {
		.rule = h->rule, .key = "k", .key_len = 1, .cost = cost, .charges = &charges};

	if (at_check_item(h->rl, &item, now_ns(), NULL) != RL_ALLOWED)
		return;
	h->counted += cost;
	if (test_below(&seed, 4) == 0 && at_refund(h->rl, &charges, now_ns()) == 1)
		h->counted -= cost;
}

/* Without sweeps: what ends an incarnation is another test's. */
static void
change_table(struct rl *rl)
{
	switch (test_below(&seed, 6)) {
	case 0:
		resize(rl);
		break;
	case 1:
		move_all(rl, now_ns());
		break;
	case 2:
		assert_true(rl_move_end(rl) >= 0);
		break;
	default:
		break;
	}
}

static void
work(void)
{
	for (int i = 0; i < 5; i++) {
		struct host *h = &hosts[test_below(&seed, HOSTS)];

		if (moves)
			change_table(h->rl);
		charge(h);
		look();
	}
}

/*
 * The store: no more than there is beside the others', and not less than it was but where less is
 * asked for.
 */
static void
answer(struct host *h, uint32_t want)
{
	uint32_t others = 0, left = want < h->given ? want : h->given;

	for (int i = 0; i < HOSTS; i++)
		others += &hosts[i] == h ? 0 : hosts[i].given;
	if (want > CAPACITY - others)
		want = CAPACITY - others;
	h->given = h->answer = want > left ? want : left;
	h->has_answer = true;
}

/* The CAS of a change is its last access: nobody sees it before it is told here. */
static void
changed(struct host *h, int error, const struct rl_share *s, uint64_t began_ns)
{
	if (error == 0)
		h->share = s->share;
	h->late_ns += passed_ns - began_ns;
	h->is_changing = false;
}

/* A share that is not as it is to be is lowered first, and then asked for. */
static void
ask(struct host *h)
{
	uint32_t want = (uint32_t)test_below(&seed, CAPACITY + 1);
	uint64_t began_ns = passed_ns;
	struct rl_share s;
	int error;

	h->is_changing = true;
	error = rl_share_lower(h->rl, &h->of, want, now_ns(), &s);
	changed(h, error, &s, began_ns);
	if (error < 0)
		return;
	want = want > s.load ? want : s.load;
	answer(h, want > s.share ? want : s.share);
}

static void
set(struct host *h)
{
	uint64_t began_ns = passed_ns;
	struct rl_share s;

	h->is_changing = true;
	h->has_answer = false;
	changed(h, rl_share_set(h->rl, &h->of, h->answer, now_ns(), &s), &s, began_ns);
}

/*
 * Its lease is over. The store has it for longer; an answer that comes now has a lease that is
 * over, too.
 */
static void
end(struct host *h)
{
	uint64_t began_ns = passed_ns;
	struct rl_share s;

	h->is_changing = true;
	h->has_answer = false;
	changed(h, rl_share_end(h->rl, &h->of, now_ns(), &s), &s, began_ns);
}

static int
keep(const struct rl_share *share, void *arg)
{
	*(struct rl_incarnation *)arg = share->of;
	return 0;
}

/*
 * Another lender, who knows nothing: all shares are found, wherever their keys are on the way to.
 */
static void
scan(struct host *h)
{
	struct rl_incarnation found;
	struct rl_info info;
	uint64_t table;

	do {
		found = (struct rl_incarnation){0};
		rl_info(h->rl, &info);
		table = info.table;
		assert_int_equal(rl_share_scan(h->rl, 0, UINT64_MAX, now_ns(), keep, &found), 0);
		rl_info(h->rl, &info);
	} while (info.table != table);
	if (found.tag == 0 && h->share > 0)
		fail_msg("run %llu: a share of %u was not found", (unsigned long long)run,
		         h->share);
	if (found.tag != 0)
		h->of = found;
}

static void
give(void)
{
	for (int i = 0; i < 8; i++) {
		struct host *h = &hosts[test_below(&seed, HOSTS)];

		if (moves && test_below(&seed, 4) == 0)
			scan(h);
		if (h->of.key_hash == 0) /* nothing is lent to one that nobody could follow */
			continue;
		if (test_below(&seed, 8) == 0)
			end(h);
		else if (h->has_answer && test_below(&seed, 4) > 0)
			set(h);
		else
			ask(h);
		look();
	}
}

static void
play(int worker)
{
	if (worker == 0)
		give();
	else
		work();
}

/* The key is there, was charged what it may be unasked, and has wished for more. */
static void
begin(struct host *h)
{
	struct rl_item item = {.rule = h->rule, .key = "k", .key_len = 1, .cost = 1};
	uint64_t from = 0;

	empty_tables(&h->rl, 1);
	h->given = h->share = 0;
	h->late_ns = 0;
	h->has_answer = h->is_changing = false;
	h->counted = at_check_item(h->rl, &item, T0, NULL) == RL_ALLOWED;
	assert_int_equal(h->counted, blind > 0);
	assert_int_equal(rl_share_wishes(h->rl, &from, 1, T0, keep, &h->of), 1);
}

/* Who was killed has perhaps charged, or given back, what he did not live to say. */
static void
check_counted(void)
{
	for (int i = 0; i < HOSTS; i++) {
		struct host *h = &hosts[i];
		int64_t load = read_alone(h).load;

		if (llabs(load - h->counted) > killed * COST_MAX)
			fail_msg("run %llu: host %d counts %lld, and has admitted %lld",
			         (unsigned long long)run, i, (long long)load,
			         (long long)h->counted);
	}
}

static void
check_whole(void)
{
	struct audit a;

	for (int i = 0; i < HOSTS; i++)
		if (!audit_segment(rl_here(hosts[i].rl), &a))
			fail_msg("run %llu, host %d: %s", (unsigned long long)run, i, a.fault);
}

static const char *
name_of(int host)
{
	static char name[HOSTS][64];

	snprintf(name[host], sizeof name[host], "%s-%d", test_segment_name(), host);
	return name[host];
}

static int
unlink_all(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTS; i++)
		rl_unlink(name_of(i));
	return 0;
}

static void
open_host(struct host *h, const struct rl_limit *limit)
{
	const struct rl_options o = {.keys = 9,
	                             .ring = 16,
	                             .on_full = RL_FULL_DENY,
	                             .buffer_ns = RL_BUFFER_MAX,
	                             .flags = RL_OPEN_CLUSTER};

	assert_int_equal(rl_open(name_of((int)(h - hosts)), &o, &h->rl), 0);
	h->rule = rl_define(h->rl, &(struct rl_rule){.name = "r", .limit = *limit});
	assert_true(h->rule >= 0);
	assert_int_equal(rl_share_advance(h->rl, 2 * T0), 0);
}

static const struct rl_limit kinds[] = {
	{.algorithm = RL_TOKEN_BUCKET, .capacity = CAPACITY, .burst = CAPACITY},
	{.algorithm = RL_LEAKY_BUCKET, .capacity = 2 * CAPACITY, .burst = CAPACITY - 1},
	{.algorithm = RL_SLIDING_LOG, .capacity = CAPACITY},
	{.algorithm = RL_SLIDING_WINDOW, .capacity = CAPACITY, .granularity = 4, .hard = 1},
	{.algorithm = RL_FIXED_WINDOW, .capacity = CAPACITY},
};

static void
play_kind(struct rl_limit limit, uint64_t first, uint64_t runs)
{
	limit.window_ns = WINDOW;
	limit.scope = RL_SCOPE_CLUSTER;
	limit.away = RL_AWAY_CLOSED;
	limit.blind = blind;
	fill_ns = limit.burst > 0 ? WINDOW * CAPACITY / limit.capacity : 0;
	for (int i = 0; i < HOSTS; i++)
		open_host(&hosts[i], &limit);
	for (run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		passed_ns = 0;
		for (int i = 0; i < HOSTS; i++)
			begin(&hosts[i]);
		run_schedule(play);
		look();
		if (pause_ns == 0)
			check_counted();
		check_whole();
	}
	for (int i = 0; i < HOSTS; i++)
		rl_close(hosts[i].rl);
	unlink_all(NULL);
}

#define RUNS 1500
#define RUNS_OF_MOVES 300

static void
play_all(uint64_t first)
{
	uint64_t runs = moves ? RUNS_OF_MOVES : RUNS;

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		for (blind = 0; blind < 2; blind++) {
			play_kind(kinds[i], first, runs);
			first += runs;
		}
	}
}

static void
test_at_one_time(void **state)
{
	(void)state;
	pause_ns = 0;
	kills = false;
	play_all(1);
	kills = true;
	play_all(1000000);
}

static void
test_time_passes(void **state)
{
	(void)state;
	pause_ns = WINDOW / 8;
	kills = false;
	play_all(2000000);
	kills = true;
	play_all(3000000);
}

static void
test_tables_change(void **state)
{
	moves = true;
	resizes = followed = 0;
	test_at_one_time(state);
	test_time_passes(state);
	assert_true(resizes > test_scaled(RUNS_OF_MOVES) && followed > test_scaled(RUNS_OF_MOVES));
	moves = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_at_one_time, unlink_all),
		cmocka_unit_test_teardown(test_time_passes, unlink_all),
		cmocka_unit_test_teardown(test_tables_change, unlink_all),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
