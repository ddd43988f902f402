/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chosen schedules of workers and of the one that lends to them, on one key of a cluster (see
 * schedule.h): charges that roll the window on, refunds, resets, shares that are raised, lowered
 * and ended, and kills anywhere. Whatever stands in the word, at any access: the share is not more
 * than the store has lent to that incarnation, and what counts is not more than that and the blind
 * part. A failure names its seed, which repeats it.
 */
#include <string.h>

#include "algorithm/share.h"
#include "at.h"
#include "audit.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#include "schedule.h"

#define SLOTS 16
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WIDTH (RL_SECOND / 4)
#define BLIND 1
#define GIVEN_MAX 4

static struct rl *rl;
static int rule;
static uint64_t run;

/* What the store has lent, by slot and gen: each incarnation is a host of its own. */
static uint8_t given[SLOTS][256];

static void
start(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	memset(given, 0, sizeof given);
}

/* Read without a hook: nobody else runs meanwhile. */
static void
look(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t tag = *rl_table_tag(&rl->segment.table, i);
		struct rl_u128 word = *rl_table_state(&rl->segment.table, i);
		uint64_t load = (word.lo >> RL_STATE_CUR_SHIFT) + (word.hi >> RL_STATE_SUM_SHIFT);
		uint32_t most = given[i][rl_tag_gen(tag)];

		if (rl_tag_status(tag) != RL_TAG_LIVE || rl_state_gen(word) != rl_tag_gen(tag) ||
		    rl_state_is_dead(word))
			continue;
		if (rl_share_of(word) > most || load > most + BLIND)
			fail_msg("run %llu: slot %u has a share of %u and counts %llu; %u is lent",
			         (unsigned long long)run, i, rl_share_of(word),
			         (unsigned long long)load, most);
	}
}

/* Within one window: nothing leaves it. */
static uint64_t
some_time(void)
{
	return T0 + test_below(&seed, 4) * WIDTH;
}

static void
charge(void)
{
	struct rl_item item = {.rule = rule, .key = "k", .key_len = 1, .cost = 1};
	struct rl_charges charges = {0};

	item.charges = &charges;
	at_check_item(rl, &item, some_time(), NULL);
	look();
	if (test_below(&seed, 4) == 0)
		at_refund(rl, &charges, some_time());
}

static void
work(void)
{
	for (int i = 0; i < 4; i++) {
		if (test_below(&seed, 12) == 0)
			rl_reset(rl, rule, "k", 1);
		else
			charge();
		look();
	}
}

static int
keep(const struct rl_share *share, void *arg)
{
	*(struct rl_share *)arg = *share;
	return -1;
}

/*
 * The store grants, and then the word is raised; the word is lowered, and then the store is told.
 */
static void
give(const struct rl_share *at)
{
	uint8_t *field = &given[at->of.slot][rl_tag_gen(at->of.tag)];
	struct rl_share s;

	switch (test_below(&seed, 4)) {
	case 0:
		if (rl_share_lower(rl, &at->of, (uint32_t)test_below(&seed, GIVEN_MAX), some_time(),
		                   &s) == 0)
			*field = (uint8_t)(s.share > s.load ? s.share : s.load);
		break;
	case 1: /* its lease is over: the store holds it for longer */
		rl_share_end(rl, &at->of, some_time(), &s);
		break;
	default:
		*field = GIVEN_MAX;
		rl_share_set(rl, &at->of, GIVEN_MAX, some_time(), &s);
		break;
	}
	look();
}

static void
work_sharing(void)
{
	struct rl_share at = {.share = 0};

	for (int i = 0; i < 6; i++) {
		uint64_t from = 0;

		rl_share_wishes(rl, &from, 1, some_time(), keep, &at);
		if (at.of.tag == 0)
			rl_share_scan(rl, 0, SLOTS, some_time(), keep, &at);
		if (at.of.tag != 0)
			give(&at);
	}
}

static void
play(int worker)
{
	if (worker == 0)
		work_sharing();
	else
		work();
}

static void
play_runs(uint64_t from, uint64_t count)
{
	const struct rl_options o = {
		.keys = 9, .ring = 4, .on_full = RL_FULL_DENY, .flags = RL_OPEN_CLUSTER};
	const struct rl_limit limit = {.capacity = 100,
	                               .window_ns = RL_SECOND,
	                               .granularity = 4,
	                               .hard = 1,
	                               .scope = RL_SCOPE_CLUSTER,
	                               .away = RL_AWAY_CLOSED,
	                               .blind = BLIND};
	struct audit a;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
	assert_int_equal(rl_share_advance(rl, 2 * T0), 0);
	for (run = from; run < from + test_scaled(count); run++) {
		seed = run;
		start();
		run_schedule(play);
		look();
		if (!audit_segment(rl, &a))
			fail_msg("run %llu: %s", (unsigned long long)run, a.fault);
	}
	rl_close(rl);
}

#define RUNS 40000

static void
test_workers_and_a_lender(void **state)
{
	(void)state;
	kills = false;
	play_runs(1, RUNS);
}

static void
test_any_of_them_killed(void **state)
{
	(void)state;
	kills = true;
	play_runs(RUNS, RUNS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers_and_a_lender),
		cmocka_unit_test(test_any_of_them_killed),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
