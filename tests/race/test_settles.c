/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four processes charge one key and settle what each of them was charged, to less and to more, in
 * chosen schedules (see schedule.h); any of them may be killed between any two of its steps. What
 * counts is never less than the truth, at any time, and is the truth once all are at rest.
 */
#define WORKERS 4
#define STEPS 900 /* all of a run: what comes last is what meets a ring that turns */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define PARTS 4
#define CAPACITY 20
#define EARLY 3 /* charges of each worker's own, which it may settle; the last is in sub-bucket 2 */
#define LAST 5  /* sub-bucket of a clock, until all are at rest: the first has left by then */
#define ACTIONS 3
#define RECORDS (WORKERS * (EARLY + 2 * ACTIONS) + 3 * PARTS)

/* So much of a charge, or of a debt, counts for certain, and so much may. */
struct record {
	uint32_t least, most;
	uint64_t from, to; /* sub-buckets in which it may have been charged */
};

/* Each process has opened the segment by itself. */
static struct rl *opened[WORKERS];
static int rule;
static bool is_still; /* a bucket, which would be filled again as time goes on */

static struct record records[RECORDS];
static int count;
static uint32_t lowest[WORKERS]; /* that was certain since the worker began what it does */

static struct early {
	struct rl_charges charges;
	int record;
} early[WORKERS][EARLY];

static uint64_t
at(uint64_t epoch)
{
	return T0 + (is_still ? 0 : epoch) * RL_SECOND;
}

static uint32_t
least_at(uint64_t epoch)
{
	uint32_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += records[i].from + PARTS >= epoch || is_still ? records[i].least : 0;
	return sum;
}

static uint32_t
most_at(uint64_t epoch)
{
	uint32_t sum = 0;

	for (int i = 0; i < count; i++)
		sum += records[i].to + PARTS >= epoch || is_still ? records[i].most : 0;
	return sum;
}

static void
changed(void)
{
	uint32_t least = least_at(LAST);

	for (int i = 0; i < WORKERS; i++)
		if (least < lowest[i])
			lowest[i] = least;
}

static int
add_record(uint32_t least, uint32_t most, uint64_t from, uint64_t to)
{
	assert_true(count < RECORDS);
	records[count] = (struct record){least, most, from, to};
	return count++;
}

/* What a charge of so much may count before it is known whether it was admitted. */
static int
begin_charge(int worker, uint32_t cost, uint64_t epoch)
{
	lowest[worker] = least_at(LAST);
	return add_record(0, cost, epoch, LAST);
}

/* One that counts still once all are at rest. */
static uint64_t
some_epoch(void)
{
	return LAST - test_below(&seed, PARTS + 1);
}

static void
charge(int worker)
{
	uint32_t cost = 1 + (uint32_t)test_below(&seed, 3);
	uint64_t epoch = some_epoch();
	int record = begin_charge(worker, cost, epoch);
	struct rl_result r;

	if (at_check(opened[worker], rule, "k", 1, cost, at(epoch), &r) != RL_ALLOWED) {
		assert_int_equal(r.error, 0);
		records[record].most = 0;
		return;
	}
	records[record].least = cost;
	if (lowest[worker] + cost > CAPACITY)
		fail_msg("seed %llu: %u admitted beside %u", (unsigned long long)seed, cost,
		         lowest[worker]);
}

/*
 * From when a settlement begins nobody can tell whether what goes back still counts, until it has
 * ended; what a killed one has not taken from the sum leaves within two windows.
 */
static void
settle_to_less(int worker, struct early *e, uint32_t cost, uint32_t actual)
{
	struct record *r = &records[e->record];
	uint64_t to = r->to;
	int given;

	r->least = actual;
	r->to = LAST + PARTS;
	changed();
	given = at_settle(opened[worker], &e->charges, actual, at(LAST));
	if (given != 1 && (is_still || r->from + PARTS >= LAST))
		fail_msg("%u of %u are not given back", cost - actual, cost);
	r->to = to;
	r->most = given == 1 ? actual : cost;
}

static void
settle_to_more(int worker, struct early *e, uint32_t more, uint32_t actual)
{
	uint64_t epoch = some_epoch();
	int record = begin_charge(worker, more, epoch);

	assert_int_equal(at_settle(opened[worker], &e->charges, actual, at(epoch)), 1);
	records[record].least = more;
}

static void
settle(int worker, int number)
{
	struct early *e = &early[worker][number];
	uint32_t cost = e->charges.charge[0].cost, actual = (uint32_t)test_below(&seed, 7);

	if (actual < cost)
		settle_to_less(worker, e, cost, actual);
	else if (actual > cost)
		settle_to_more(worker, e, actual - cost, actual);
}

static void
look(int worker)
{
	struct rl_result r;

	lowest[worker] = least_at(LAST);
	at_peek(opened[worker], rule, "k", 1, at(LAST), &r);
	if (r.used < lowest[worker])
		fail_msg("seed %llu: %u count, and not %u", (unsigned long long)seed, r.used,
		         lowest[worker]);
}

static void
work(int worker)
{
	int first = (int)test_below(&seed, EARLY); /* the newest may be being closed */

	for (int i = 0; i < ACTIONS; i++) {
		if (test_below(&seed, 3) > 0)
			settle(worker, (first + i) % EARLY);
		else
			charge(worker);
		look(worker);
	}
}

/* Sub-buckets 0 to 2, of which two are closed before anybody settles. */
static void
begin(void)
{
	struct rl_segment *s = &opened[0]->segment;

	count = 0;
	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	for (uint64_t epoch = 0; epoch < EARLY; epoch++)
		for (int i = 0; i < WORKERS; i++) {
			struct early *e = &early[i][epoch];
			uint32_t cost = 1 + (uint32_t)(i == 0);
			assert_int_equal(test_check_at(opened[0], rule, "k", 1, cost, at(epoch),
			                               NULL, &e->charges),
			                 RL_ALLOWED);
			e->record = add_record(cost, cost, epoch, epoch);
		}
}

/* In each sub-bucket from now on, until all of it has left; and somebody is charged there. */
static void
judge(uint64_t run)
{
	struct audit a;

	for (uint64_t epoch = LAST; epoch < LAST + 3 * PARTS; epoch++) {
		uint32_t least = least_at(epoch), most = most_at(epoch);
		struct rl_result r;

		at_peek(opened[0], rule, "k", 1, at(epoch), &r);
		if (r.used < least || r.used > most)
			fail_msg("run %llu, sub-bucket %d: %u count, and not %u to %u",
			         (unsigned long long)run, (int)epoch, r.used, least, most);
		if (epoch == LAST && killed == 0)
			assert_true(least == most);
		if (at_check(opened[1], rule, "k", 1, 1, at(epoch), NULL) == RL_ALLOWED)
			add_record(1, 1, epoch, epoch);
		if (!audit_segment(opened[0], &a))
			fail_msg("run %llu: %s", (unsigned long long)run, a.fault);
	}
}

static void
play(const struct rl_limit *limit)
{
	const struct rl_options o = {.keys = 12, .ring = PARTS, .bans = 1, .rules = 2};
	int deaths = 0;

	is_still = limit->algorithm == RL_TOKEN_BUCKET;
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(rl_open(test_segment_name(), &o, &opened[i]), 0);
		rule = rl_define(opened[i], &(struct rl_rule){.name = "r", .limit = *limit});
		assert_true(rule >= 0);
	}
	for (uint64_t run = 1; run <= test_scaled(30000); run++) {
		seed = run;
		kills = run % 2 == 0;
		begin();
		run_schedule(work);
		deaths += killed;
		judge(run);
	}
	assert_true(deaths > 0);
	for (int i = 0; i < WORKERS; i++)
		rl_close(opened[i]);
}

static void
test_windows(void **state)
{
	(void)state;
	play(&(struct rl_limit){.capacity = CAPACITY,
	                        .window_ns = PARTS * RL_SECOND,
	                        .granularity = PARTS,
	                        .hard = 1});
}

static void
test_buckets(void **state)
{
	(void)state;
	play(&(struct rl_limit){
		.algorithm = RL_TOKEN_BUCKET, .capacity = CAPACITY, .window_ns = 3600 * RL_SECOND});
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_windows, test_unlink),
		cmocka_unit_test_teardown(test_buckets, test_unlink),
	};

	test_segment_name();
	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
