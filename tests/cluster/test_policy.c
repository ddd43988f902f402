/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policy of borrowing in a world of its own: whatever it asks for, whatever is lost, late,
 * stopped or killed, no more is admitted than capacity + hosts x blind; and how well it does is
 * measured beside the figures of the design.
 */

#include <stdio.h>
#include <stdlib.h>

#include "../../rld/cluster/policy.h"
#include "testing.h"
#include "world.h"

static const uint64_t windows_s[] = {1, 2, 5, 10};
static const int part_counts[] = {10, 10, 4, 1, 0};

static struct world_config
draw(uint64_t seed)
{
	uint64_t s = seed * 7919 + 1;
	struct world_config c = {
		.hosts = 2 + (int)test_below(&s, 9),
		.capacity = test_below(&s, 3) ? 20 + test_below(&s, 400) : 1 + test_below(&s, 12),
		.window_ns = windows_s[test_below(&s, 4)] * RL_SECOND,
		.lease_ns = (1 + test_below(&s, 30)) * RL_SECOND,
		.look_ns = 100 * RL_MILLISECOND,
		.parts = part_counts[test_below(&s, 5)],
		.is_hard = test_below(&s, 2) != 0,
		.demand = 0.3 + (double)test_below(&s, 40) / 10,
		.load = (enum world_load)test_below(&s, WORLD_LOADS),
		.loss = (double)test_below(&s, 3) * 0.05,
		.slow = (double)test_below(&s, 3) * 0.05,
		.stops = (double)test_below(&s, 3) * 0.02,
		.deaths = test_below(&s, 4) ? 0 : 0.002,
		.cost = (enum world_cost)test_below(&s, WORLD_COSTS),
		.wait_ns = test_below(&s, 2) * 20 * RL_MILLISECOND,
		.tick_ns = (1 + test_below(&s, 10)) * RL_MILLISECOND,
		.is_deaf = test_below(&s, 3) == 0,
		.skew_ns = test_below(&s, 2) * 400 * RL_MILLISECOND,
		.seed = seed,
	};

	c.blind = test_below(&s, 3) ? test_below(&s, c.capacity / 10 + 2) : 0;
	c.seconds = (int)(c.window_ns / RL_SECOND) * 4;
	return c;
}

/*
 * A real window of a hard limit is bounded as loads are; an estimate's is not, on one host neither.
 */
static void
check_bound(const struct world_config *c, const struct world_result *r)
{
	int64_t bound = (int64_t)(r->incarnations * c->blind);

	if (r->over > bound)
		fail_msg("seed %llu: %lld over, and the bound is %lld", (unsigned long long)c->seed,
		         (long long)r->over, (long long)bound);
	if (c->is_hard && c->parts > 1 && r->span_over > bound)
		fail_msg("seed %llu: a window holds %lld too many, and the bound is %lld",
		         (unsigned long long)c->seed, (long long)r->span_over, (long long)bound);
}

static void
test_bound(void **state)
{
	const char *more = getenv("RL_POLICY_SEEDS");
	uint64_t seeds = more ? strtoull(more, NULL, 10) : test_scaled(400);
	unsigned reached = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world_config c = draw(seed);
		struct world_result r = world_run(&c);

		check_bound(&c, &r);
		reached += c.blind > 0 && r.over == (int64_t)(r.incarnations * c.blind);
	}
	printf("%llu seeds, none above the bound; %u of them reach it\n", (unsigned long long)seeds,
	       reached);
	assert_true(reached > 0); /* a bound that is never reached would be another */
}

struct figure {
	const char *name, *design; /* what the design's simulation of such a policy has seen */
	int hosts;
	uint64_t blind, window_s;
	double demand;
	enum world_load load;
	double falsely, asks; /* of 1, a window: what is allowed; 0 it is only shown */
	double least;         /* admitted of the capacity */
};

static const struct figure figures[] = {
	{"even, 90 %", "0.0 %", 4, 20, 10, 0.9, WORLD_EVEN, 0.005, 0, 0.8},
	{"one host, 90 %", "0.0 %", 4, 20, 10, 0.9, WORLD_ONE_HOST, 0.005, 0, 0.8},
	{"each 3 s another, 90 %", "2.0-4.3 %", 4, 20, 10, 0.9, WORLD_SHIFT, 0.1, 0, 0.75},
	{"Zipf, 90 %", "0.0 %", 4, 20, 10, 0.9, WORLD_ZIPF, 0.005, 0, 0.8},
	{"even, 80 %", "79 asks", 10, 5, 60, 0.8, WORLD_EVEN, 0.005, 100, 0.75},
	{"one host, 80 %", "8 asks", 10, 5, 60, 0.8, WORLD_ONE_HOST, 0.005, 16, 0.75},
	{"each 3 s another, 80 %", "179 asks", 10, 5, 60, 0.8, WORLD_SHIFT, 0.01, 200, 0.75},
	{"even, 200 %", "323 asks", 10, 5, 60, 2, WORLD_EVEN, 0.02, 900, 0.95},
	{"one host, 200 %", "24 asks", 10, 5, 60, 2, WORLD_ONE_HOST, 0.02, 40, 0.95},
	{"each 3 s another, 200 %", "195; 35 %", 10, 5, 60, 2, WORLD_SHIFT, 0.3, 450, 0.9},
	{"a crowd at once", "48-75 %", 10, 5, 10, 0.5, WORLD_BURST, 0.75, 0, 0},
	{"a herd, blind 0", "55-98 %", 4, 0, 10, 1, WORLD_HERD, 0.99, 0, 0},
};

static void
test_figures(void **state)
{
	unsigned missed = 0;

	(void)state;
	printf("%-26s %10s %14s %10s %12s\n", "load", "falsely", "asks a window", "admitted",
	       "the design");
	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
		const struct figure *f = &figures[i];
		struct world_config c = {.hosts = f->hosts,
		                         .capacity = 1000,
		                         .blind = f->blind,
		                         .window_ns = f->window_s * RL_SECOND,
		                         .lease_ns = 30 * RL_SECOND,
		                         .look_ns = 100 * RL_MILLISECOND,
		                         .parts = 10,
		                         .demand = f->demand,
		                         .load = f->load,
		                         .seconds = f->window_s > 10 ? 300 : 150,
		                         .seed = 11};
		struct world_result r = world_run(&c);
		double falsely = (double)r.falsely / (double)r.requests;
		double asks = (double)r.asks / r.windows;
		double admitted = (double)r.admitted / r.windows / (double)c.capacity;

		printf("%-26s %9.3f%% %14.1f %9.1f%% %12s\n", f->name, falsely * 100, asks,
		       admitted * 100, f->design);
		check_bound(&c, &r);
		missed += (f->falsely > 0 && falsely > f->falsely) ||
		          (f->asks > 0 && asks > f->asks) || admitted < f->least;
	}
	assert_int_equal(missed, 0);
}

/*
 * What docs/CLUSTER.md plans with: a host with 100,000 decisions a second, 1,000,000 keys of which
 * the k-th of all is asked for by Zipf, 60 * 100,000 / (14.39 k) times a minute, and blind 10. A
 * class is the keys that are asked for so often, and `part` how many they are beside those of three
 * quarters of blind, 55,600.
 */
static double
questions(double demand)
{
	static const struct {
		double often, part;
	} classes[] = {{5, 0.5},     {7.5, 0.25},   {10, 0.25},    {15, 0.25},    {30, 0.125},
	               {60, 0.0625}, {120, 0.0375}, {300, 0.0175}, {1000, 0.0075}};
	double sum = 0;

	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		struct world_config c = {.hosts = 20,
		                         .capacity = (uint64_t)(20 * classes[i].often / demand),
		                         .blind = 10,
		                         .window_ns = 60 * RL_SECOND,
		                         .lease_ns = 300 * RL_SECOND,
		                         .look_ns = 100 * RL_MILLISECOND,
		                         .parts = 10,
		                         .demand = demand,
		                         .load = WORLD_EVEN,
		                         .seconds = 900,
		                         .seed = 7};
		struct world_result r = world_run(&c);

		check_bound(&c, &r);
		sum += classes[i].part * (double)r.asks / r.windows / c.hosts;
	}
	return sum;
}

static void
test_plan(void **state)
{
	double third = questions(1.0 / 3), most = questions(0.8);

	(void)state;
	printf("1,000 hosts: %.1f questions a minute for each key and host, %.2f M a second; where "
	       "keys use 80 %% of their limits %.1f, %.2f M\n",
	       third, third * 55.6 / 60, most, most * 55.6 / 60);
	assert_true(third > 1 && third < 3);
	assert_true(most > 5 && most < 11);
}

/* What nobody uses any more is given back, and then the key is forgotten. */
static void
test_idle_key(void **state)
{
	const struct policy_limit limit = {.capacity = 100,
	                                   .blind = 2,
	                                   .window_ns = RL_SECOND,
	                                   .lease_ns = 30 * RL_SECOND,
	                                   .look_ns = 100 * RL_MILLISECOND};
	struct policy_seen seen = {.share = 60, .load = 50};
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_wish wish;
	struct policy_key key;

	(void)state;
	policy_begin(&key, &seen, now_ns);
	policy_asked(&key, now_ns, 0);
	policy_answered(&key, &(struct policy_answer){60, 60, 1, 100, false}, now_ns, &limit);
	seen.load = 0;
	now_ns += 5 * RL_SECOND;
	wish = policy_look(&limit, &key, &seen, now_ns);
	assert_true(wish.is_ask && !wish.is_over);
	assert_int_equal(wish.want, 0);
	policy_asked(&key, now_ns, 0);
	policy_answered(&key, &(struct policy_answer){0, 0, 1, 100, false}, now_ns, &limit);
	seen.share = 0;
	wish = policy_look(&limit, &key, &seen, now_ns + 1);
	assert_true(wish.is_over && !wish.is_ask);
}

static const struct policy_limit strict = {.capacity = 1000,
                                           .window_ns = 60 * RL_SECOND,
                                           .lease_ns = 30 * RL_SECOND,
                                           .look_ns = 100 * RL_MILLISECOND,
                                           .hosts = 2};

/* One that has 400 of 1,000 and was denied 700, while another starves. */
static struct policy_wish
short_of_700(struct policy_key *key, uint64_t random, uint64_t now_ns)
{
	struct policy_seen seen = {.share = 400, .is_wished = true};

	policy_begin(key, &seen, now_ns);
	policy_asked(key, now_ns, random);
	policy_answered(key, &(struct policy_answer){400, 800, 2, 1000, true}, now_ns, &strict);
	seen.denied = seen.largest = 700;
	seen.is_waiting = true;
	return policy_look(&strict, key, &seen, now_ns + 30 * RL_MILLISECOND);
}

/* Of two that need more than is left when each keeps what it has, one gives way: by lot. */
static void
test_one_gives_way(void **state)
{
	struct policy_wish stays, goes;
	struct policy_key key;

	(void)state;
	stays = short_of_700(&key, 0, 1000 * RL_SECOND);
	goes = short_of_700(&key, 1 << 7, 1000 * RL_SECOND);
	assert_true(stays.is_ask && stays.is_short && stays.is_call);
	assert_int_equal(stays.want, 700);
	assert_int_equal(stays.need, 700);
	assert_true(goes.is_ask);
	assert_int_equal(goes.want, 0);
	assert_int_equal(goes.need, 700);
}

/* Who was denied and does not come again has gone: nothing more is asked for. */
static void
test_a_denial_is_forgotten(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_seen seen = {.share = 400};
	struct policy_wish wish;
	struct policy_key key;

	(void)state;
	short_of_700(&key, 0, now_ns);
	wish = policy_look(&strict, &key, &seen, now_ns + 90 * RL_MILLISECOND);
	assert_true(wish.is_short);
	wish = policy_look(&strict, &key, &seen, now_ns + 200 * RL_MILLISECOND);
	assert_true(!wish.is_short);
	assert_true(wish.want <= 400);
}

/* While the answers bring nothing it is asked after pauses that double; at once for room. */
static void
test_pauses(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND, before = 0, pause;
	struct policy_seen seen = {.denied = 1, .largest = 1, .is_waiting = true};
	struct policy_key key;

	(void)state;
	policy_begin(&key, &seen, now_ns);
	for (int i = 0; i < 8; i++) {
		assert_true(policy_look(&strict, &key, &seen, now_ns).is_ask);
		policy_asked(&key, now_ns, 0);
		now_ns += RL_MILLISECOND;
		policy_answered(&key, &(struct policy_answer){0, 1000, 1, 1000, false}, now_ns,
		                &strict);
		assert_true(!policy_look(&strict, &key, &seen, now_ns).is_ask);
		pause = policy_look(&strict, &key, &seen, now_ns).next_ns - now_ns;
		assert_true(pause > before || pause >= strict.window_ns / 40 - RL_MILLISECOND);
		before = pause;
		now_ns += pause;
	}
	assert_int_equal(before, strict.window_ns / 40 - RL_MILLISECOND);
	policy_asked(&key, now_ns, 0);
	policy_answered(&key, &(struct policy_answer){0, 1000, 1, 1000, false}, now_ns, &strict);
	seen.is_room = true;
	assert_true(policy_look(&strict, &key, &seen, now_ns + RL_MILLISECOND).is_ask);
}

/* What is told while an answer is on the way is newer than that may be: it is asked at once. */
static void
test_room_comes_first(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_seen seen = {.denied = 1, .largest = 1, .is_waiting = true};
	struct policy_key key;

	(void)state;
	policy_begin(&key, &seen, now_ns);
	policy_asked(&key, now_ns, 0);
	seen.is_room = true;
	policy_look(&strict, &key, &seen, now_ns + RL_MILLISECOND);
	policy_answered(&key, &(struct policy_answer){0, 1000, 1, 1000, false},
	                now_ns + 2 * RL_MILLISECOND, &strict);
	seen.is_room = false;
	assert_true(policy_look(&strict, &key, &seen, now_ns + 3 * RL_MILLISECOND).is_ask);
}

/* 64 hosts that each keep a 64th of the capacity while others starve keep all of it. */
static void
test_little_of_all(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_limit many = strict;
	struct policy_seen seen = {.share = 15};
	struct policy_wish wish;
	struct policy_key key;

	(void)state;
	many.hosts = 64;
	policy_begin(&key, &seen, now_ns);
	policy_asked(&key, now_ns, 0);
	policy_answered(&key, &(struct policy_answer){15, 1000, 64, 1000, true}, now_ns, &many);
	wish = policy_look(&many, &key, &seen, now_ns + RL_SECOND / 2);
	assert_true(wish.is_ask);
	assert_in_range(wish.want, 0, 1);
}

static const struct policy_answer all_lent = {0, 1000, 3, 1000, false};

/* Asked for again and again, and never there: then nobody is to wait, until there is room. */
static void
test_nothing_to_lend(void **state)
{
	struct policy_seen seen = {
		.is_wished = true, .denied = 1, .largest = 1, .is_waiting = true};
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_key key;

	(void)state;
	policy_begin(&key, &seen, now_ns);
	for (int i = 0; i < 4; i++) {
		assert_false(policy_is_dry(&strict, &key, now_ns));
		now_ns += 100 * RL_MILLISECOND;
		assert_true(policy_look(&strict, &key, &seen, now_ns).is_ask);
		policy_asked(&key, now_ns, 0);
		policy_answered(&key, &all_lent, now_ns, &strict);
	}
	assert_true(policy_is_dry(&strict, &key, now_ns));
	assert_false(policy_is_dry(&strict, &key, now_ns + 60 * RL_SECOND));
	seen = (struct policy_seen){0};
	policy_look(&strict, &key, &seen, now_ns + RL_SECOND / 2);
	assert_true(policy_is_dry(&strict, &key, now_ns + RL_SECOND / 2));
	seen.is_room = true;
	policy_look(&strict, &key, &seen, now_ns + RL_SECOND / 2);
	assert_false(policy_is_dry(&strict, &key, now_ns + RL_SECOND / 2));
}

/* Who waited and was admitted since the last look is who was denied, and lacks nothing more. */
static void
test_who_was_admitted_lacks_nothing(void **state)
{
	struct policy_seen seen = {
		.is_wished = true, .denied = 3, .largest = 1, .is_waiting = true};
	uint64_t now_ns = 1000 * RL_SECOND;
	struct policy_wish wish;
	struct policy_key key;

	(void)state;
	policy_begin(&key, &(struct policy_seen){0}, now_ns);
	seen.load = seen.share = 2;
	wish = policy_look(&strict, &key, &seen, now_ns + RL_MILLISECOND);
	assert_true(wish.is_short);
	assert_int_equal(key.sum, 1);
	seen.load = seen.share = 5;
	wish = policy_look(&strict, &key, &seen, now_ns + 2 * RL_MILLISECOND);
	assert_false(wish.is_short);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_idle_key),
		cmocka_unit_test(test_one_gives_way),
		cmocka_unit_test(test_a_denial_is_forgotten),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_room_comes_first),
		cmocka_unit_test(test_little_of_all),
		cmocka_unit_test(test_nothing_to_lend),
		cmocka_unit_test(test_who_was_admitted_lacks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
