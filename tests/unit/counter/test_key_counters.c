/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by key, beside a naive one; their lifetimes; what they share with rules, and what not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "algorithm/counter.h"
#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 5

/* By definition: a value, and until when. */
struct naive_counter {
	uint64_t value;
	uint64_t expires_ns; /* UINT64_MAX: never */
	bool is_there;
};

struct answer {
	int done;
	struct rl_count count;
};

static uint64_t
ms_up(uint64_t ns)
{
	return ns % RL_MILLISECOND == 0 ? ns : (ns / RL_MILLISECOND + 1) * RL_MILLISECOND;
}

static bool
is_alive(const struct naive_counter *n, uint64_t now_ns)
{
	return n->is_there && now_ns < n->expires_ns;
}

static struct answer
naive_answer(const struct naive_counter *n, uint64_t now_ns, int done, bool is_new)
{
	struct answer a = {.done = done};

	if (is_alive(n, now_ns))
		a.count = (struct rl_count){.value = n->value,
		                            .expires_after_ns = n->expires_ns == UINT64_MAX
		                                                        ? RL_NEVER_NS
		                                                        : n->expires_ns - now_ns,
		                            .is_new = is_new};
	return a;
}

static void
naive_make(struct naive_counter *n, uint64_t value, uint64_t lifetime_ns, uint64_t now_ns)
{
	n->is_there = true;
	n->value = value;
	n->expires_ns = lifetime_ns == RL_NEVER_NS ? UINT64_MAX : ms_up(now_ns + lifetime_ns);
}

static struct answer
naive_add(struct naive_counter *n, int64_t amount, uint64_t lifetime_ns, uint64_t now_ns)
{
	__int128 sum = amount;
	bool is_new = !is_alive(n, now_ns);

	if (is_new && (lifetime_ns == 0 || amount <= 0))
		return naive_answer(n, now_ns, 0, false);
	if (is_new)
		naive_make(n, 0, lifetime_ns, now_ns);
	sum += n->value;
	n->value = sum < 0 ? 0 : sum > (__int128)RL_COUNT_MAX ? RL_COUNT_MAX : (uint64_t)sum;
	return naive_answer(n, now_ns, 1, is_new);
}

static struct answer
naive_set(struct naive_counter *n, uint64_t value, uint64_t lifetime_ns, uint64_t now_ns)
{
	bool is_new = !is_alive(n, now_ns);

	if (is_new && lifetime_ns == 0)
		return naive_answer(n, now_ns, 0, false);
	if (lifetime_ns > 0)
		naive_make(n, value, lifetime_ns, now_ns);
	n->value = value;
	return naive_answer(n, now_ns, 1, is_new);
}

static struct answer
naive_set_new(struct naive_counter *n, uint64_t value, uint64_t lifetime_ns, uint64_t now_ns)
{
	if (is_alive(n, now_ns))
		return naive_answer(n, now_ns, 0, false);
	naive_make(n, value, lifetime_ns, now_ns);
	return naive_answer(n, now_ns, 1, true);
}

static struct answer
naive_touch(struct naive_counter *n, uint64_t lifetime_ns, uint64_t now_ns)
{
	if (!is_alive(n, now_ns))
		return naive_answer(n, now_ns, 0, false);
	naive_make(n, n->value, lifetime_ns, now_ns);
	return naive_answer(n, now_ns, 1, false);
}

static struct answer
naive_drop(struct naive_counter *n, uint64_t now_ns)
{
	bool was = is_alive(n, now_ns);

	n->is_there = n->is_there && !was;
	return (struct answer){.done = was};
}

/* Amounts and values at every edge. */
static int64_t
an_amount(uint64_t *seed)
{
	static const int64_t edges[] = {1,
	                                1,
	                                1,
	                                -1,
	                                0,
	                                7,
	                                -7,
	                                INT64_MAX,
	                                INT64_MIN,
	                                (int64_t)RL_COUNT_MAX,
	                                -(int64_t)RL_COUNT_MAX,
	                                (int64_t)RL_COUNT_MAX - 1};

	return edges[test_below(seed, sizeof edges / sizeof edges[0])];
}

static uint64_t
a_lifetime(uint64_t *seed)
{
	static const uint64_t edges[] = {0,
	                                 0,
	                                 1,
	                                 RL_MILLISECOND,
	                                 RL_MILLISECOND + 1,
	                                 5 * RL_MILLISECOND,
	                                 RL_SECOND,
	                                 RL_SECOND,
	                                 400 * UINT64_C(86400) * RL_SECOND,
	                                 RL_NEVER_NS};

	return edges[test_below(seed, sizeof edges / sizeof edges[0])];
}

static uint64_t
a_step(uint64_t *seed)
{
	static const uint64_t edges[] = {
		0, 0, 1, RL_MILLISECOND - 1, RL_MILLISECOND, RL_SECOND / 3};

	return edges[test_below(seed, sizeof edges / sizeof edges[0])];
}

static void
play(struct rl *rl, int space, struct naive_counter *n, const char *key, uint64_t now_ns,
     uint64_t *seed)
{
	uint64_t lifetime = a_lifetime(seed), value = test_below(seed, 3) * (RL_COUNT_MAX / 2);
	int64_t amount = an_amount(seed);
	struct answer want, got = {0};
	size_t len = strlen(key);

	switch (test_below(seed, 7)) {
	case 0:
		want = naive_answer(n, now_ns, is_alive(n, now_ns), false);
		got.done = at_counter_get(rl, space, key, len, now_ns, &got.count);
		break;
	case 1:
		want = naive_set(n, value, lifetime, now_ns);
		got.done = at_counter_set(rl, space, key, len, value, lifetime, now_ns, &got.count);
		break;
	case 2:
		lifetime = lifetime > 0 ? lifetime : 1;
		want = naive_set_new(n, value, lifetime, now_ns);
		got.done = at_counter_set_new(rl, space, key, len, value, lifetime, now_ns,
		                              &got.count);
		break;
	case 4:
		lifetime = lifetime > 0 ? lifetime : 1;
		want = naive_touch(n, lifetime, now_ns);
		got.done = at_counter_touch(rl, space, key, len, lifetime, now_ns, &got.count);
		break;
	case 3:
		want = naive_drop(n, now_ns);
		got.done = at_counter_drop(rl, space, key, len, now_ns);
		break;
	default:
		want = naive_add(n, amount, lifetime, now_ns);
		got.done =
			at_counter_add(rl, space, key, len, amount, lifetime, now_ns, &got.count);
		break;
	}
	assert_int_equal(got.done, want.done);
	assert_int_equal(got.count.value, want.count.value);
	assert_int_equal(got.count.expires_after_ns, want.count.expires_after_ns);
	assert_int_equal(got.count.is_new, want.count.is_new);
}

/* Times go back, too, as of processes that were stopped. */
static void
test_against_a_naive_one(void **state)
{
	static const char *const keys[KEYS] = {"a", "b", "c", "d", "e"};
	struct naive_counter naive[KEYS] = {0};
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");
	uint64_t seed = 1, now_ns = T0;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		size_t k = test_below(&seed, KEYS);
		uint64_t late = test_below(&seed, 10) == 0 ? 3 * RL_MILLISECOND : 0;
		play(rl, space, &naive[k], keys[k], now_ns - late, &seed);
		now_ns += a_step(&seed);
		if (i % 1000 == 0) /* not what late calls might still find */
			rl_sweep_at(rl, now_ns - 4 * RL_MILLISECOND);
	}
	rl_close(rl);
}

static void
add(struct rl *rl, int space, const char *key, int64_t amount, uint64_t lifetime_ns,
    uint64_t now_ns, uint64_t value, uint64_t expires_after_ns, bool is_new)
{
	struct rl_count count;

	assert_int_equal(
		at_counter_add(rl, space, key, strlen(key), amount, lifetime_ns, now_ns, &count),
		1);
	assert_int_equal(count.value, value);
	assert_int_equal(count.expires_after_ns, expires_after_ns);
	assert_int_equal(count.is_new, is_new);
}

static void
test_the_first_increment_begins_the_lifetime(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");

	(void)state;
	add(rl, space, "k", 1, 10 * RL_SECOND, T0, 1, 10 * RL_SECOND, true);
	add(rl, space, "k", 1, 10 * RL_SECOND, T0 + 4 * RL_SECOND, 2, 6 * RL_SECOND, false);
	add(rl, space, "k", -1, 0, T0 + 10 * RL_SECOND - 1, 1, 1, false);
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0 + 10 * RL_SECOND, NULL), 0);
	add(rl, space, "k", 5, RL_SECOND, T0 + 10 * RL_SECOND, 5, RL_SECOND, true);
	rl_close(rl);
}

static void
test_lifetimes(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");
	const uint64_t last_ns = (RL_COUNTER_EXPIRY_NEVER - 1) * RL_MILLISECOND;
	struct rl_count count;

	(void)state;
	add(rl, space, "ms", 1, 1, T0 + 1, 1, RL_MILLISECOND - 1, true);
	add(rl, space, "early", 1, 1, RL_MILLISECOND, 1, RL_MILLISECOND, true);
	add(rl, space, "never", 1, RL_NEVER_NS, T0, 1, RL_NEVER_NS, true);
	add(rl, space, "never", 1, RL_SECOND, T0 * 2, 2, RL_NEVER_NS, false);
	add(rl, space, "last", 1, last_ns - T0, T0, 1, last_ns - T0, true);
	assert_int_equal(at_counter_add(rl, space, "k", 1, 1, last_ns - T0 + 1, T0, &count),
	                 -EINVAL);
	assert_int_equal(at_counter_add(rl, space, "k", 1, 1, RL_NEVER_NS - 1, T0, &count),
	                 -EINVAL);
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0, &count), 0);
	/* a lifetime that is told anew with a value, or not */
	assert_int_equal(at_counter_set(rl, space, "s", 1, 7, 10 * RL_SECOND, T0, &count), 1);
	assert_true(count.is_new);
	assert_int_equal(at_counter_set(rl, space, "s", 1, 8, 0, T0 + RL_SECOND, &count), 1);
	assert_int_equal(count.expires_after_ns, 9 * RL_SECOND);
	assert_int_equal(at_counter_set(rl, space, "s", 1, 9, 60 * RL_SECOND, T0, &count), 1);
	assert_int_equal(count.expires_after_ns, 60 * RL_SECOND);
	assert_false(count.is_new);
	assert_int_equal(count.value, 9);
	rl_close(rl);
}

static void
test_values_stop_at_both_ends(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");

	(void)state;
	add(rl, space, "k", (int64_t)RL_COUNT_MAX - 1, RL_SECOND, T0, RL_COUNT_MAX - 1, RL_SECOND,
	    true);
	add(rl, space, "k", 1, 0, T0, RL_COUNT_MAX, RL_SECOND, false);
	add(rl, space, "k", 1, 0, T0, RL_COUNT_MAX, RL_SECOND, false);
	add(rl, space, "k", -2, 0, T0, RL_COUNT_MAX - 2, RL_SECOND, false);
	add(rl, space, "k", INT64_MIN, 0, T0, 0, RL_SECOND, false);
	add(rl, space, "k", -1, 0, T0, 0, RL_SECOND, false);
	add(rl, space, "n", INT64_MAX, RL_SECOND, T0, RL_COUNT_MAX, RL_SECOND, true);
	assert_int_equal(at_counter_set(rl, space, "k", 1, RL_COUNT_MAX + 1, 0, T0, NULL), -EINVAL);
	rl_close(rl);
}

/* Fill the 16 places that all keys of so small a table have. */
static int
fill(struct rl *rl, int space, uint64_t lifetime_ns, uint64_t now_ns)
{
	char key[8];
	int made = 0;

	for (int i = 0; i < 40; i++) {
		int len = snprintf(key, sizeof key, "f%d", i);
		int done =
			at_counter_add(rl, space, key, (size_t)len, 1, lifetime_ns, now_ns, NULL);
		assert_true(done == 1 || done == -ENOSPC);
		made += done == 1;
	}
	return made;
}

static void
test_a_full_table(void **state)
{
	(void)state;
	for (int on_full = RL_FULL_DENY; on_full <= RL_FULL_ALLOW; on_full++) {
		struct rl_options o = {
			.keys = 10, .on_full = (enum rl_on_full)on_full, .buffer_ns = RL_SECOND};
		struct rl_result r;
		struct rl *rl;

		assert_int_equal(rl_open_private(&o, &rl), 0);
		int space = rl_define_counters(rl, "c");
		int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
		assert_int_equal(fill(rl, space, 10 * RL_SECOND, T0), 16);
		assert_int_equal(test_counter(rl, space, RL_COUNT_full_undecided), 24);
		/* what has no place says so, and what has one stays */
		at_check(rl, rule, "k", 1, 1, T0, &r);
		assert_int_equal(r.error, -ENOSPC);
		for (int i = 0; i < 16; i++) {
			char key[8];
			int len = snprintf(key, sizeof key, "f%d", i);
			assert_int_equal(at_counter_get(rl, space, key, (size_t)len, T0, NULL), 1);
		}
		/* to be read or dropped nothing needs a place */
		assert_int_equal(at_counter_get(rl, space, "x", 1, T0, NULL), 0);
		assert_int_equal(at_counter_add(rl, space, "x", 1, -1, RL_SECOND, T0, NULL), 0);
		/* once they are over there is room */
		at_check(rl, rule, "k", 1, 1, T0 + 11 * RL_SECOND, &r);
		assert_int_equal(r.verdict, RL_ALLOWED);
		assert_int_equal(r.error, 0);
		rl_close(rl);
	}
}

static void
test_sweep_and_reset(void **state)
{
	struct rl_options o = {.keys = 100, .buffer_ns = RL_SECOND};
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	int space = rl_define_counters(rl, "c");
	add(rl, space, "k", 1, RL_SECOND, T0, 1, RL_SECOND, true);
	add(rl, space, "never", 1, RL_NEVER_NS, T0, 1, RL_NEVER_NS, true);
	assert_int_equal(rl_sweep_at(rl, T0 + 2 * RL_SECOND - 1), 0);
	assert_int_equal(rl_sweep_at(rl, T0 + 2 * RL_SECOND), 1);
	assert_int_equal(rl_sweep_at(rl, UINT64_MAX), 0);
	assert_int_equal(rl_fill(rl), 1);
	assert_int_equal(rl_reset(rl, space, "never", 5), 1);
	assert_int_equal(rl_reset(rl, space, "never", 5), 0);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* A space that is forgotten takes its counters along, whoever has its row next. */
static void
test_forgotten_spaces(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c"), again;

	(void)state;
	assert_int_equal(rl_define_counters(rl, "c"), space);
	assert_int_equal(rl_find(rl, "c"), space);
	add(rl, space, "k", 1, RL_SECOND, T0, 1, RL_SECOND, true);
	assert_int_equal(rl_forget(rl, "c"), 1);
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0, NULL), RL_EREMOVED);
	again = rl_define_counters(rl, "c");
	assert_int_equal(at_counter_get(rl, again, "k", 1, T0, NULL), 0);
	add(rl, again, "k", 1, RL_SECOND, T0, 1, RL_SECOND, true);
	rl_close(rl);
}

/* Spaces are apart from each other and from rules. */
static void
test_one_key_in_many_spaces(void **state)
{
	struct rl *rl = test_private(100);
	int a = rl_define_counters(rl, "a"), b = rl_define_counters(rl, "b");
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);

	(void)state;
	add(rl, a, "k", 3, RL_SECOND, T0, 3, RL_SECOND, true);
	add(rl, b, "k", 4, RL_SECOND, T0, 4, RL_SECOND, true);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_counter_drop(rl, a, "k", 1, T0), 1);
	assert_int_equal(at_counter_get(rl, a, "k", 1, T0, NULL), 0);
	assert_int_equal(at_counter_get(rl, b, "k", 1, T0, NULL), 1);
	rl_close(rl);
}

static void
expect_no_check(struct rl *rl, int space)
{
	const struct rl_item item = {.rule = space, .key = "k", .key_len = 1, .cost = 1};
	struct rl_charges c;
	struct rl_result r;
	size_t decided;

	for (uint64_t cost = 0; cost < 3; cost++) {
		c.count = 1;
		assert_int_equal(test_check_at(rl, space, "k", 1, cost, T0, &r, &c), RL_UNDECIDED);
		assert_int_equal(r.error, -EINVAL);
		assert_int_equal(c.count, 0);
	}
	assert_int_equal(at_check_all(rl, &item, 1, T0, &r, &decided), RL_UNDECIDED);
	at_check_many(rl, &item, 1, T0, &r);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(at_reserve_item(rl, &item, RL_SECOND, T0, &r), RL_UNDECIDED);
	assert_int_equal(rl_restore_at(rl, space, 0, "k", 1, 1, T0), -EINVAL);
}

static void
test_misuse(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
	char longer[RL_KEY_MAX + 1] = {0};
	struct rl_count count = {.value = 9};

	(void)state;
	expect_no_check(rl, space);
	add(rl, space, "k", 1, RL_SECOND, T0, 1, RL_SECOND, true);
	expect_no_check(rl, space);
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0, &count), 1);
	assert_int_equal(count.value, 1);
	assert_int_equal(at_counter_add(rl, rule, "k", 1, 1, RL_SECOND, T0, &count), -EINVAL);
	assert_int_equal(count.value, 0);
	assert_int_equal(at_counter_get(rl, -1, "k", 1, T0, NULL), -EINVAL);
	assert_int_equal(at_counter_get(rl, 17, "k", 1, T0, NULL), -EINVAL);
	assert_int_equal(at_counter_get(rl, space, "", 0, T0, NULL), RL_EEMPTY);
	assert_int_equal(at_counter_get(rl, space, longer, sizeof longer, T0, NULL), -ENAMETOOLONG);
	assert_int_equal(at_counter_set_new(rl, space, "k", 1, 1, 0, T0, NULL), -EINVAL);
	assert_int_equal(at_counter_touch(rl, space, "k", 1, 0, T0, NULL), -EINVAL);
	/* one name is one kind */
	assert_int_equal(rl_define_counters(rl, "r"), -EEXIST);
	assert_int_equal(
		rl_define(rl, &(struct rl_rule){.name = "c",
	                                        .limit = {.capacity = 1, .window_ns = RL_SECOND}}),
		-EEXIST);
	assert_int_equal(rl_define_counters(rl, "no name"), -EINVAL);
	assert_int_equal(
		rl_define(rl, &(struct rl_rule){.name = "x", .limit = {.algorithm = RL_COUNTER}}),
		-EINVAL);
	rl_close(rl);
}

/* A charge that no check has made. */
static void
test_a_forged_charge(void **state)
{
	struct rl *rl = test_private(10);
	int space = rl_define_counters(rl, "c");
	struct rl_count count;

	(void)state;
	add(rl, space, "k", 5, RL_SECOND, T0, 5, RL_SECOND, true);
	for (unsigned place = 0; place < RL_CANDIDATES; place++) {
		struct rl_charges c = {.count = 1};
		c.charge[0] =
			(struct rl_charge){.key = rl_hash_of_key(rl->segment.key_start, "k", 1),
		                           .place = (uint8_t)place,
		                           .cost = 1,
		                           .capacity = 1};
		assert_int_equal(at_refund(rl, &c, T0), 0);
	}
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0, &count), 1);
	assert_int_equal(count.value, 5);
	rl_close(rl);
}

/* The configuration's rule of that name takes its place, and gives it back. */
static void
test_a_configured_rule_of_that_name(void **state)
{
	struct rl *rl = test_private(100);
	int space = rl_define_counters(rl, "c");
	struct rl_config_rule rule = {
		.rule = {.name = "c", .limit = {.capacity = 1, .window_ns = RL_SECOND}}};
	struct rl_config_outcome outcome;

	(void)state;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, &outcome), 0);
	assert_int_equal(at_counter_add(rl, space, "k", 1, 1, RL_SECOND, T0, NULL), -EINVAL);
	assert_int_equal(rl_define_counters(rl, "c"), -EEXIST);
	assert_int_equal(at_check(rl, space, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_configure(rl, NULL, 0, 0, NULL, &outcome), 0);
	add(rl, space, "k", 1, RL_SECOND, T0, 1, RL_SECOND, true);
	rl_close(rl);
}

#define ADDS 20000

struct crowd {
	struct rl *rl;
	int space;
};

static int
add_many(void *arg, int i)
{
	const struct crowd *crowd = arg;
	int bad = 0;

	for (int j = 0; j < ADDS; j++)
		bad |= at_counter_add(crowd->rl, crowd->space, j % 2 ? "a" : "b", 1, i % 2 ? 3 : 1,
		                      RL_NEVER_NS, T0, NULL) != 1;
	return bad;
}

static void
test_many_processes_lose_nothing(void **state)
{
	struct rl_count count;
	struct crowd crowd;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.keys = 100}, &crowd.rl),
	                 0);
	crowd.space = rl_define_counters(crowd.rl, "c");
	test_fork(4, add_many, &crowd);
	assert_int_equal(at_counter_get(crowd.rl, crowd.space, "a", 1, T0, &count), 1);
	assert_int_equal(count.value, ADDS / 2 * (1 + 3 + 1 + 3));
	rl_close(crowd.rl);
	/* who only reads, reads */
	assert_int_equal(rl_open(test_segment_name(),
	                         &(struct rl_options){.flags = RL_OPEN_READONLY}, &crowd.rl),
	                 0);
	crowd.space = rl_find(crowd.rl, "c");
	assert_int_equal(at_counter_get(crowd.rl, crowd.space, "b", 1, T0, &count), 1);
	assert_int_equal(at_counter_add(crowd.rl, crowd.space, "b", 1, 1, 0, T0, &count), -EROFS);
	assert_int_equal(at_counter_drop(crowd.rl, crowd.space, "b", 1, T0), -EROFS);
	rl_close(crowd.rl);
	rl_unlink(test_segment_name());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_naive_one),
		cmocka_unit_test(test_the_first_increment_begins_the_lifetime),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_values_stop_at_both_ends),
		cmocka_unit_test(test_a_full_table),
		cmocka_unit_test(test_sweep_and_reset),
		cmocka_unit_test(test_forgotten_spaces),
		cmocka_unit_test(test_one_key_in_many_spaces),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_a_forged_charge),
		cmocka_unit_test(test_a_configured_rule_of_that_name),
		cmocka_unit_test(test_many_processes_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
