/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chosen schedules of the real code, on one segment (see schedule.h). Two CPUs seldom meet
 * within the few nanoseconds that matter; here they do in every run. A failure names its
 * seed, which repeats it.
 */
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "schedule.h"

#define SLOTS 16
#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct rl *rl;
static int rule;
static uint64_t now_ns; /* of the claims: when the fillers are charged, or when they are stale */

/* What was acknowledged in this run. */
static struct {
	int allowed[3], reset[3]; /* by key */
	int full;                 /* answers that there is no slot */
	uint64_t epoch[32];       /* of each charge */
	int charges;
} done;

static void
start(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(&done, 0, sizeof done);
	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
}

static unsigned
live_tags_of(uint64_t key)
{
	uint64_t hash = rl_hash_of_key(rl->segment.key_start, &key, sizeof key);
	const struct rl_compiled *limit = rl_handle_limit(rl, rule);
	struct rl_candidates p =
		rl_table_candidates(&rl->segment.table, limit->owner, hash ^ limit->salt);
	unsigned count = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t tag = *rl_table_tag(&rl->segment.table, i);
		count += rl_tag_status(tag) == RL_TAG_LIVE && (tag & RL_TAG_KEY_MASK) == p.key;
	}
	return count;
}

/* A few of: charge one of three keys, forget one, forget one of those that fill the table. */
static void
work_claims(int worker)
{
	(void)worker;
	for (int i = 0; i < 2; i++) {
		struct rl_result r;
		uint64_t key = test_below(&seed, 3), filler = 100 + test_below(&seed, SLOTS);
		switch (test_below(&seed, 6)) {
		case 0:
			done.reset[key] += rl_reset(rl, rule, &key, sizeof key) == 1;
			break;
		case 1:
			rl_reset(rl, rule, &filler, sizeof filler);
			break;
		case 2:
			rl_sweep_at(rl, now_ns);
			break;
		default:
			key = 0; /* most of all, meet at one key */
			done.allowed[key] +=
				at_check(rl, rule, &key, sizeof key, 1, now_ns, &r) == RL_ALLOWED;
			done.full += r.error == -ENOSPC;
			break;
		}
	}
}

static bool watches;                /* one worker audits what the others do */
static void (*watched)(int worker); /* the others */
static struct audit meanwhile;
static bool is_whole;

static void
audit_or_work(int worker)
{
	if (worker > 0)
		watched(worker);
	else
		is_whole = audit_segment(rl, &meanwhile);
}

/* What is under way is no fault. */
static void
play(uint64_t run, void (*work)(int worker))
{
	watched = work;
	is_whole = true;
	run_schedule(watches ? audit_or_work : work);
	if (!is_whole)
		fail_msg("run %llu, meanwhile: %s", (unsigned long long)run, meanwhile.fault);
}

/* Wherever workers were killed, the segment is whole. */
static void
audit_whole(uint64_t run)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("run %llu: %s", (unsigned long long)run, a.fault);
}

/* Capacity is 1, so each admission was forgotten or still is there, in one slot. */
static void
audit_claims(uint64_t run)
{
	audit_whole(run);
	for (uint64_t key = 0; key < 3; key++) {
		struct rl_result r;
		at_peek(rl, rule, &key, sizeof key, now_ns, &r);
		int lost = done.allowed[key] - done.reset[key] - (int)(r.limit - r.remaining);
		if (abs(lost) > killed || live_tags_of(key) > 1)
			fail_msg("run %llu: key %d allowed %d, reset %d, used %u, slots %u",
			         (unsigned long long)run, (int)key, done.allowed[key],
			         done.reset[key], r.limit - r.remaining, live_tags_of(key));
	}
	if (done.full > 0 && now_ns > T0)
		fail_msg("run %llu: no slot among stale ones", (unsigned long long)run);
}

static void
play_claims(uint64_t first, uint64_t runs)
{
	const struct rl_options o = {
		.keys = 12, .bans = 1, .ring = 3, .on_full = RL_FULL_DENY, .rules = 2};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 1, 3600 * RL_SECOND, 3, true);
	for (uint64_t run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		start();
		uint64_t fillers = SLOTS - test_below(&seed, 8);
		now_ns = T0 + test_below(&seed, 2) * 10 * 3600 * RL_SECOND;
		for (uint64_t i = 0; i < fillers; i++) {
			uint64_t key = 100 + i;
			at_check(rl, rule, &key, sizeof key, 1, T0, NULL);
		}
		play(run, work_claims);
		audit_claims(run);
	}
	rl_close(rl);
}

static void
work_same_key(int worker)
{
	uint64_t key = 0;

	(void)worker;
	for (int i = 0; i < 2; i++) {
		struct rl_result r;
		done.allowed[0] +=
			at_check(rl, rule, &key, sizeof key, 1, now_ns, &r) == RL_ALLOWED;
		done.full += r.error == -ENOSPC;
	}
}

/* One of the 16 slots is stale, and all want it for the same key: none is told it is full. */
static void
test_last_slot(void **state)
{
	const struct rl_options o = {
		.keys = 12, .ring = 64, .bans = 1, .on_full = RL_FULL_DENY, .rules = 2};

	(void)state;
	kills = false;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 1, 3600 * RL_SECOND, 3, true);
	now_ns = T0 + 10 * 3600 * RL_SECOND;
	for (uint64_t run = 1; run <= test_scaled(50000); run++) {
		seed = run;
		start();
		uint64_t stale = test_below(&seed, SLOTS);
		for (uint64_t i = 0; i < SLOTS; i++) {
			uint64_t key = 100 + i;
			at_check(rl, rule, &key, sizeof key, 1, i == stale ? T0 : now_ns, NULL);
		}
		run_schedule(work_same_key);
		audit_claims(run);
		if (done.allowed[0] != 1 || done.full > 0)
			fail_msg("run %llu: allowed %d, told full %d", (unsigned long long)run,
			         done.allowed[0], done.full);
	}
	rl_close(rl);
}

#define ROLL_CAPACITY 3
#define ROLL_PARTS 3

/* Charges, some given back, in sub-buckets that differ from worker to worker. */
static void
work_roll(int worker)
{
	uint64_t epoch = test_below(&seed, 3);

	(void)worker;
	for (int i = 0; i < 3; i++) {
		uint64_t now = T0 + epoch * RL_SECOND;
		struct rl_charges charges;
		struct rl_result r;
		epoch += test_below(&seed, 4);
		if (test_check_at(rl, rule, "k", 1, 1, now, &r, &charges) != RL_ALLOWED)
			continue;
		uint64_t charged = charges.charge[0].epoch;
		if (test_below(&seed, 4) == 0 && rl_refund(rl, &charges) == 1)
			continue;
		done.epoch[done.charges++] = charged;
	}
}

static int
charged_between(uint64_t from, uint64_t to)
{
	int count = 0;

	for (int i = 0; i < done.charges; i++)
		count += done.epoch[i] >= from && done.epoch[i] <= to;
	return count;
}

static int
see(const struct rl_entry *e, void *arg)
{
	*(struct rl_entry *)arg = *e;
	return 0;
}

static void
audit_roll(uint64_t run)
{
	uint64_t first = T0 / RL_SECOND, now = T0 + 8 * RL_SECOND;
	struct rl_entry e = {0};

	audit_whole(run);
	for (uint64_t x = first; x < first + 20; x++)
		if (charged_between(x, x + ROLL_PARTS) > ROLL_CAPACITY)
			fail_msg("run %llu: over capacity from %d on", (unsigned long long)run,
			         (int)(x - first));
	if (rl_lookup(rl, rule, "k", 1, now, see, &e) < 0)
		return;
	for (uint32_t i = 0; i < e.buckets; i++) {
		uint64_t x = e.bucket_end_ns / RL_SECOND - 1 - i;
		if (abs((int)e.bucket[i] - charged_between(x, x)) > killed)
			fail_msg("run %llu: sub-bucket %d holds %u, not %d",
			         (unsigned long long)run, (int)(x - first), e.bucket[i],
			         charged_between(x, x));
	}
}

static void
play_roll(uint64_t first, uint64_t runs)
{
	const struct rl_options o = {.keys = 12, .bans = 1, .ring = ROLL_PARTS, .rules = 2};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", ROLL_CAPACITY, ROLL_PARTS * RL_SECOND, ROLL_PARTS, true);
	for (uint64_t run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		start();
		play(run, work_roll);
		audit_roll(run);
	}
	rl_close(rl);
}

#define LOG_CAPACITY 3

/* Charges of a sliding log, at times of a few milliseconds' difference, some given back. */
static void
work_log(int worker)
{
	uint64_t now = T0 + test_below(&seed, 3) * RL_MILLISECOND;

	(void)worker;
	for (int i = 0; i < 3; i++) {
		struct rl_charges charges;
		struct rl_result r;
		uint64_t cost = 1 + test_below(&seed, LOG_CAPACITY);
		now += test_below(&seed, 8) * RL_MILLISECOND;
		if (test_check_at(rl, rule, "k", 1, cost, now, &r, &charges) != RL_ALLOWED)
			continue;
		uint64_t charged = charges.charge[0].epoch; /* a log's charge remembers its time */
		if (test_below(&seed, 2) == 0 && at_refund(rl, &charges, now) == 1)
			continue;
		while (cost-- > 0)
			done.epoch[done.charges++] = charged;
	}
}

/* No window of 10 ms holds more than capacity, and what counts at the end is what was charged. */
static void
audit_log(uint64_t run)
{
	uint64_t end = T0 + 30 * RL_MILLISECOND;
	struct rl_result r;

	audit_whole(run);
	for (int i = 0; i < done.charges; i++)
		if (charged_between(done.epoch[i] - RL_WINDOW_MIN + 1, done.epoch[i]) >
		    LOG_CAPACITY)
			fail_msg("run %llu: over capacity", (unsigned long long)run);
	for (uint64_t at = end - 5 * RL_MILLISECOND; at <= end; at += RL_MILLISECOND) {
		at_peek(rl, rule, "k", 1, at, &r);
		int used = (int)(r.limit - r.remaining);
		if (abs(used - charged_between(at - RL_WINDOW_MIN + 1, end)) >
		    killed * LOG_CAPACITY)
			fail_msg("run %llu: %d used, not %d", (unsigned long long)run, used,
			         charged_between(at - RL_WINDOW_MIN + 1, end));
	}
}

static void
play_log(uint64_t first, uint64_t runs)
{
	const struct rl_options o = {.keys = 12, .bans = 1, .ring = 2 * LOG_CAPACITY, .rules = 2};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit.algorithm = RL_SLIDING_LOG,
	                                       .limit.capacity = LOG_CAPACITY,
	                                       .limit.window_ns = RL_WINDOW_MIN});
	assert_true(rule >= 0);
	for (uint64_t run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		start();
		play(run, work_log);
		audit_log(run);
	}
	rl_close(rl);
}

static int second_rule;

#define PASSING 9 /* operations in a run */

/* Both limits or neither: a worker's request needs a unit of each. */
static void
work_all(int worker)
{
	for (int i = 0; i < 2; i++) {
		uint64_t one = test_below(&seed, 2), other = 7;
		struct rl_charges charges[2];
		struct rl_item items[] = {
			{.rule = rule, .key = &one, .key_len = sizeof one, .cost = 1},
			{.rule = second_rule, .key = &other, .key_len = sizeof other, .cost = 1},
		};
		if ((worker + i) % 2) { /* charged in either order */
			struct rl_item swap = items[0];
			items[0] = items[1];
			items[1] = swap;
		}
		items[0].charges = &charges[0];
		items[1].charges = &charges[1];
		if (at_check_all(rl, items, 2, T0, NULL, NULL) == RL_ALLOWED) {
			done.allowed[one]++;
			done.allowed[2]++;
		}
		done.charges += (int)(charges[0].count + charges[1].count);
	}
}

/*
 * What was denied has spent nothing: every limit counts what was admitted, and that can be given
 * back.
 */
static void
play_all(uint64_t runs)
{
	for (uint64_t run = 1; run <= runs; run++) {
		seed = run;
		start();
		run_schedule(work_all);
		if (done.charges != 2 * done.allowed[2])
			fail_msg("run %llu: %d charges of %d requests", (unsigned long long)run,
			         done.charges, done.allowed[2]);
		for (uint64_t k = 0; k < 3; k++) {
			uint64_t key = k < 2 ? k : 7;
			struct rl_result r;
			at_peek(rl, k < 2 ? rule : second_rule, &key, sizeof key, T0, &r);
			if ((int)(r.limit - r.remaining) != done.allowed[k])
				fail_msg("run %llu: limit %d counts %u, admitted %d",
				         (unsigned long long)run, (int)k, r.limit - r.remaining,
				         done.allowed[k]);
		}
	}
}

static int
define_bucket(const char *name, uint32_t capacity)
{
	return rl_define(rl, &(struct rl_rule){.name = name,
	                                       .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                 .capacity = capacity,
	                                                 .window_ns = 3600 * RL_SECOND}});
}

/* One rule's two limits; some want to know what they were charged. */
static void
work_each(int worker)
{
	for (int i = 0; i < 3; i++) {
		struct rl_charges charges;

		done.allowed[0] += test_check_at(rl, rule, "k", 1, 1, T0, NULL,
		                                 (worker + i) % 4 ? NULL : &charges) == RL_ALLOWED;
	}
}

/* Each limit counts what was admitted, which is the lesser's capacity. */
static void
play_each(const char *name, enum rl_algorithm algorithm, uint64_t runs)
{
	struct rl_limit limit = {
		.algorithm = algorithm, .capacity = 7, .window_ns = 3600 * RL_SECOND};
	const struct rl_limit lesser = {
		.algorithm = algorithm, .capacity = 6, .window_ns = 3600 * RL_SECOND};
	const struct rl_item peek = {.key = "k", .key_len = 1};

	rule = rl_define(
		rl,
		&(struct rl_rule){.name = name, .limit = limit, .more = &lesser, .more_count = 1});
	assert_true(rule >= 0);
	for (uint64_t run = 1; run <= test_scaled(runs); run++) {
		struct rl_result r, each[RL_LIMITS_MAX];
		struct rl_item item = peek;
		size_t count;

		seed = run;
		start();
		work_each(0); /* the key has its slot */
		run_schedule(work_each);
		item.rule = rule;
		at_check_limits(rl, &item, T0, &r, &count, each);
		for (size_t i = 0; i < count; i++)
			if ((int)each[i].used != done.allowed[0])
				fail_msg("run %llu: limit %zu counts %u, admitted %d",
				         (unsigned long long)run, i, each[i].used, done.allowed[0]);
	}
}

static void
test_each_or_nothing(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = 4, .bans = 1, .rules = 4};

	(void)state;
	kills = false;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	play_each("windows", RL_FIXED_WINDOW, 40000);
	play_each("buckets", RL_TOKEN_BUCKET, 40000);
	rl_close(rl);
}

static void
test_all_or_nothing(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = 64, .bans = 1, .rules = 4};

	(void)state;
	kills = false;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 2, 3600 * RL_SECOND, 3, true);
	second_rule = test_rule(rl, "s", 3, 3600 * RL_SECOND, 1, true);
	play_all(80000);
	rule = define_bucket("t", 2);
	second_rule = define_bucket("u", 3);
	play_all(20000);
	rl_close(rl);
}

/* A limit of each kind: two in two seconds, or a small burst and one a second. */
static const struct rl_limit kinds[] = {
	{.algorithm = RL_TOKEN_BUCKET, .capacity = 1, .window_ns = RL_SECOND, .burst = 2},
	{.algorithm = RL_TOKEN_BUCKET, .capacity = 1, .window_ns = RL_SECOND, .burst = 1},
	{.algorithm = RL_LEAKY_BUCKET, .capacity = 1, .window_ns = RL_SECOND, .burst = 1},
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = 2,
         .window_ns = 2 * RL_SECOND,
         .granularity = 4,
         .hard = 1},
	{.algorithm = RL_FIXED_WINDOW, .capacity = 2, .window_ns = 2 * RL_SECOND},
	{.algorithm = RL_SLIDING_LOG, .capacity = 2, .window_ns = 2 * RL_SECOND},
};

/* What was admitted under the first of the rules, and not given back; and under the second. */
static struct {
	uint64_t now_ns;
	uint64_t epoch;
	bool is_back;
} passed[2][2 * PASSING];
static int passed_count[2];

static int
pass(int which, const struct rl_charges *charges, uint64_t now)
{
	int i = passed_count[which]++;

	passed[which][i].now_ns = now;
	passed[which][i].epoch = charges->charge[0].epoch;
	passed[which][i].is_back = false;
	return i;
}

/* Both or neither, in either order. */
static void
pass_both(bool swaps, uint64_t now)
{
	struct rl_charges charges[2];
	struct rl_item items[] = {
		{.rule = rule, .key = "k", .key_len = 1, .cost = 1, .charges = &charges[0]},
		{.rule = second_rule, .key = "k", .key_len = 1, .cost = 1, .charges = &charges[1]}};
	struct rl_item swapped[] = {items[1], items[0]};
	struct rl_result r[2];

	if (at_check_all(rl, swaps ? swapped : items, 2, now, r, NULL) != RL_ALLOWED)
		return;
	pass(0, &charges[0], now);
	pass(1, &charges[1], now);
}

/* The clock is read, and then anything may happen, and some more time pass, before it counts. */
static void
work_passing(int worker)
{
	struct rl_charges charges = {0};
	uint64_t charged_ns = 0;
	struct rl_result r;
	int last = -1;

	(void)worker;
	for (int i = 0; i < PASSING / WORKERS; i++) {
		uint64_t what = test_below(&seed, 8), now = T0 + passed_ns;
		if (what < 4) {
			pass_both(what % 2, now);
		} else if (what < 7 || last < 0) {
			last = -1;
			if (test_check_at(rl, rule, "k", 1, 1, now, &r, &charges) == RL_ALLOWED)
				last = pass(0, &charges, charged_ns = now);
		} else {
			uint64_t by = test_below(&seed, 2) ? charged_ns : now;
			passed[0][last].is_back = true; /* if killed in it: perhaps */
			passed[0][last].is_back = at_refund(rl, &charges, by) == 1;
			last = -1;
		}
	}
}

/* How many of a rule's were admitted from `from` on until `to`, by the clock or by epoch. */
static uint64_t
passed_between(int which, uint64_t from, uint64_t to, bool by_epoch)
{
	uint64_t count = 0;

	for (int i = 0; i < passed_count[which]; i++) {
		uint64_t at = by_epoch ? passed[which][i].epoch : passed[which][i].now_ns;
		count += !passed[which][i].is_back && at >= from && at <= to;
	}
	return count;
}

/* The most that a limit admits from one of its charges on until another. */
static uint64_t
most_between(const struct rl_limit *l, uint64_t from, uint64_t to)
{
	switch (l->algorithm) {
	case RL_TOKEN_BUCKET:
		return l->burst + (to - from) / RL_SECOND;
	case RL_LEAKY_BUCKET:
		return l->burst + 1 + (to - from) / RL_SECOND;
	case RL_SLIDING_WINDOW:
		return to - from <= l->granularity ? l->capacity : UINT64_MAX;
	case RL_FIXED_WINDOW:
		return to == from ? l->capacity : UINT64_MAX;
	default:
		return to - from < l->window_ns ? l->capacity : UINT64_MAX;
	}
}

static void
audit_passing(const struct rl_limit *l, int which, uint64_t run)
{
	bool is_bucket = l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET;

	for (int i = 0; i < passed_count[which]; i++) {
		for (int k = 0; k < passed_count[which]; k++) {
			uint64_t from =
				is_bucket ? passed[which][i].now_ns : passed[which][i].epoch;
			uint64_t to = is_bucket ? passed[which][k].now_ns : passed[which][k].epoch;
			if (to >= from &&
			    passed_between(which, from, to, !is_bucket) > most_between(l, from, to))
				fail_msg("algorithm %d, run %llu: too much", (int)l->algorithm,
				         (unsigned long long)run);
		}
	}
}

/*
 * One limit of a kind, and beside it a window of one, which often denies what the first has let
 * pass.
 */
static void
play_passing(const struct rl_limit *l, uint64_t first, uint64_t runs)
{
	const struct rl_limit other = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 1, .window_ns = RL_SECOND};
	const struct rl_options o = {.keys = 12, .bans = 1, .ring = 8, .rules = 2};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = *l});
	second_rule = rl_define(rl, &(struct rl_rule){.name = "s", .limit = other});
	assert_true(rule >= 0 && second_rule >= 0);
	pause_ns = RL_SECOND / 2;
	for (uint64_t run = first; run < first + test_scaled(runs); run++) {
		seed = run;
		start();
		passed_count[0] = passed_count[1] = 0;
		run_schedule(work_passing);
		audit_whole(run);
		audit_passing(l, 0, run);
		audit_passing(&other, 1, run);
	}
	pause_ns = 0;
	rl_close(rl);
}

/* However long anybody was stopped, and wherever: no limit admits too much. */
static void
test_time_passes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		kills = false;
		play_passing(&kinds[i], 1, 30000);
		kills = true;
		play_passing(&kinds[i], 30001, 10000);
	}
	kills = false;
}

static int torn; /* answers of this run that no one configuration gives */

/* The configuration of number n: two limits of n each, and an override of n + 50 for one key. */
static void
configure(uint32_t n)
{
	const struct rl_limit other = {
		.algorithm = RL_FIXED_WINDOW, .capacity = n, .window_ns = 2 * RL_SECOND};
	const struct rl_override own = {.pattern = rl_pattern_of("k", 1),
	                                .capacity = {n + 50, n + 50}};
	const struct rl_config_rule r = {.rule = {.name = "c",
	                                          .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                    .capacity = n,
	                                                    .window_ns = RL_SECOND},
	                                          .more = &other,
	                                          .more_count = 1},
	                                 .overrides = &own,
	                                 .override_count = 1};

	rl_configure(rl, &r, 1, 0, NULL, NULL);
}

/* One configures, again and again; the others ask what the limits are. */
static void
work_configured(int worker)
{
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	for (uint32_t i = 0; i < 4; i++) {
		bool is_own = test_below(&seed, 2);
		const struct rl_item item = {
			.rule = rule, .key = is_own ? "k" : "x", .key_len = 1, .cost = 0};
		if (worker == 0) {
			configure(20 + i + (uint32_t)test_below(&seed, 10));
			continue;
		}
		at_check_limits(rl, &item, T0, &r, &count, each);
		torn += count != 2 || each[0].limit != each[1].limit ||
		        (each[0].limit >= 50) != is_own;
	}
}

/* No decision mixes two configurations, wherever it and two reloads meet. */
static void
test_never_half_a_configuration(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = 64, .bans = 1, .rules = 1, .overrides = 2};

	(void)state;
	kills = false;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	configure(10);
	rule = rl_find(rl, "c");
	for (uint64_t run = 1; run <= test_scaled(40000); run++) {
		seed = run;
		torn = 0;
		run_schedule(work_configured);
		if (torn > 0)
			fail_msg("run %llu: %d answers", (unsigned long long)run, torn);
	}
	rl_close(rl);
}

#define RUNS 80000

static void
test_claims(void **state)
{
	(void)state;
	kills = false;
	play_claims(1, RUNS);
}

static void
test_claims_with_kills(void **state)
{
	(void)state;
	kills = true;
	play_claims(RUNS, RUNS);
}

static void
test_roll(void **state)
{
	(void)state;
	kills = false;
	play_roll(1, RUNS);
}

static void
test_roll_with_kills(void **state)
{
	(void)state;
	kills = true;
	play_roll(RUNS, RUNS);
}

static void
test_log(void **state)
{
	(void)state;
	kills = false;
	play_log(1, RUNS);
}

static void
test_log_with_kills(void **state)
{
	(void)state;
	kills = true;
	play_log(RUNS, RUNS);
}

/* An audit beside the others, any of whom may be killed. */
static void
test_audit_meanwhile(void **state)
{
	(void)state;
	kills = true;
	watches = true;
	play_claims(1, RUNS / 2);
	play_roll(1, RUNS / 2);
	play_log(1, RUNS / 2);
	watches = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claims_with_kills),
		cmocka_unit_test(test_last_slot),
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_each_or_nothing),
		cmocka_unit_test(test_time_passes),
		cmocka_unit_test(test_never_half_a_configuration),
		cmocka_unit_test(test_roll),
		cmocka_unit_test(test_roll_with_kills),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_log_with_kills),
		cmocka_unit_test(test_audit_meanwhile),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
