/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys that a daemon borrows for, and the ends of their leases, beside arrays that are searched
 * as a whole.
 */

#include <stdlib.h>
#include <string.h>

#include "../../rld/cluster/keys.h"
#include "../../rld/cluster/leases.h"
#include "../../rld/cluster/rule_shares.h"
#include "../../rld/store/times.h"
#include "testing.h"

#define SLOTS 3000

static struct {
	bool is_there;
	uint64_t due_ns; /* 0: in nobody's wheel */
} naive[SLOTS];

/* Many of them have the same place. */
static uint64_t
hash_of(uint64_t slot)
{
	return slot * UINT64_C(0x9e3779b97f4a7c15) & ~UINT64_C(0xf0);
}

static void
compare(const struct keys *k)
{
	uint32_t used = 0;

	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		uint32_t number = keys_find(k, hash_of(slot));

		assert_int_equal(number != KEYS_NONE, naive[slot].is_there);
		if (number != KEYS_NONE)
			assert_int_equal(k->of[number].of.slot, slot);
		used += naive[slot].is_there;
	}
	assert_int_equal(k->used, used);
}

static void
change(struct keys *k, uint64_t *seed, uint64_t now_ns)
{
	uint64_t slot = test_below(seed, SLOTS);
	uint32_t number = keys_find(k, hash_of(slot));

	if (number != KEYS_NONE && test_below(seed, 3) == 0) {
		keys_remove(k, number);
		naive[slot].is_there = false;
		naive[slot].due_ns = 0;
		return;
	}
	number = keys_claim(k, &(struct rl_incarnation){.slot = slot, .key_hash = hash_of(slot)});
	assert_int_not_equal(number, KEYS_NONE);
	naive[slot].is_there = true;
	naive[slot].due_ns =
		now_ns + test_below(seed, 30) * RL_SECOND + 1; /* the wheel is 10 s round */
	keys_schedule(k, number, naive[slot].due_ns);
}

/* All that are due are told, once, no later than a tick, and none before. */
static void
take_due(struct keys *k, uint64_t now_ns)
{
	uint32_t number;

	while ((number = keys_next_due(k, now_ns)) != KEYS_NONE) {
		uint64_t slot = k->of[number].of.slot;

		assert_true(naive[slot].due_ns > 0);
		assert_true(naive[slot].due_ns / KEYS_TICK_NS <= now_ns / KEYS_TICK_NS);
		naive[slot].due_ns = 0;
	}
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		assert_true(naive[slot].due_ns == 0 ||
		            naive[slot].due_ns / KEYS_TICK_NS > now_ns / KEYS_TICK_NS);
}

static void
test_keys(void **state)
{
	uint64_t seed = 3, now_ns = 5000 * RL_SECOND;
	struct keys k;

	(void)state;
	memset(naive, 0, sizeof naive);
	assert_true(keys_open(&k, now_ns));
	for (int round = 0; round < 400; round++) {
		for (int i = 0; i < 60; i++)
			change(&k, &seed, now_ns);
		now_ns += test_below(&seed, 300) * RL_MILLISECOND;
		take_due(&k, now_ns);
		if (round % 20 == 0)
			compare(&k);
	}
	compare(&k);
	now_ns += 60 * RL_SECOND;
	take_due(&k, now_ns);
	keys_close(&k);
}

#define LEASES 300

static void
test_leases(void **state)
{
	uint64_t of[LEASES] = {0}, seed = 9, now_ns = 777 * RL_SECOND, lease_ns = 5 * RL_SECOND;
	struct leases l;

	(void)state;
	leases_init(&l, lease_ns, now_ns);
	for (int round = 0; round < 20000; round++) {
		uint64_t i = test_below(&seed, LEASES), earliest = UINT64_MAX, told;

		if (of[i] > 0)
			leases_remove(&l, of[i]);
		of[i] = test_below(&seed, 4) ? now_ns + test_below(&seed, 2 * lease_ns) : 0;
		if (of[i] > 0)
			leases_add(&l, of[i]);
		if (test_below(&seed, 40) == 0)
			now_ns += test_below(&seed, lease_ns / 2);
		if (test_below(&seed, 3000) == 0)
			now_ns += 50 * lease_ns; /* the store was away */
		for (int n = 0; n < LEASES; n++)
			earliest = of[n] > 0 && of[n] < earliest ? of[n] : earliest;
		told = leases_earliest(&l, now_ns);
		assert_true(told <= earliest); /* never later than the truth */
		if (earliest > now_ns + l.span_ns)
			assert_true(earliest - told <= l.span_ns || told == UINT64_MAX);
		assert_int_equal(told == UINT64_MAX, earliest == UINT64_MAX);
	}
}

#define RULES 30
#define SHARES 200

/* Shares that come, change and go, beside a sum over all. */
static void
test_rule_shares(void **state)
{
	static uint32_t share[RULES][SHARES];
	struct rule_shares of_rules = {0};
	uint64_t seed = 7;

	(void)state;
	for (uint64_t times = test_scaled(20000); times > 0; times--) {
		unsigned rule = (unsigned)test_below(&seed, RULES);
		unsigned key = (unsigned)test_below(&seed, SHARES);
		uint32_t now = test_below(&seed, 2) ? (uint32_t)test_below(&seed, 1u << 28) : 0;

		assert_true(rule_shares_change(&of_rules, (int)rule * 7, share[rule][key], now));
		share[rule][key] = now;
	}
	for (unsigned rule = 0; rule < RULES; rule++) {
		struct rule_share is = rule_shares_of(&of_rules, (int)rule * 7);

		for (unsigned key = 0; key < SHARES; key++) {
			is.shares -= share[rule][key] > 0;
			is.sum -= share[rule][key];
		}
		assert_int_equal(is.shares, 0);
		assert_int_equal(is.sum, 0);
	}
	assert_int_equal(rule_shares_of(&of_rules, 1).shares, 0);
	rule_shares_free(&of_rules);
}

/* A bound is of what is up to it. */
static void
test_times(void **state)
{
	struct store_times t = {0}, all = {0};

	(void)state;
	for (unsigned i = 0; i < STORE_BOUNDS; i++) {
		store_times_add(&t, store_bounds_ns[i]);
		store_times_add(&t, store_bounds_ns[i] + 1);
		all.sum_ns += 2 * store_bounds_ns[i] + 1;
	}
	store_times_join(&all, &t);
	assert_int_equal(all.sum_ns, 2 * t.sum_ns);
	for (unsigned i = 0; i <= STORE_BOUNDS; i++)
		assert_int_equal(all.counts[i], i == 0 || i == STORE_BOUNDS ? 1 : 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_leases),
		cmocka_unit_test(test_rule_shares),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
