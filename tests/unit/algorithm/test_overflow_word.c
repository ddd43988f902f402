/* SPDX-License-Identifier: BSD-2-Clause */
/* The lanes of an overflow counter, beside what each key was admitted. */
#include <string.h>

#include "algorithm/overflow_count.h"
#include "algorithm/overflow_word.h"
#include "testing.h"

#define WINDOW (60 * RL_SECOND)
#define KEYS 56 /* each two lanes, in both orders */
#define SERIAL 7
#define STEPS 2000

/* What a key was admitted in an epoch, and in the one before. */
struct admitted {
	uint32_t cur, sum;
};

struct shared {
	struct rl_limiter overflow;
	struct rl_u128 word;
	bool counts;
	uint64_t epoch;
	uint32_t capacity;
	struct admitted key[KEYS];
};

static uint32_t
lanes_of(unsigned key)
{
	return rl_overflow_lanes((uint64_t)(key % 8) << 34 | (uint64_t)(key / 8) << 37);
}

static void
begin(struct shared *s, enum rl_algorithm algorithm, uint32_t capacity, uint64_t epoch)
{
	struct rl_limiter slot = {.window_ns = WINDOW, .granularity = 1};

	memset(s, 0, sizeof *s);
	slot.window = rl_window_of(WINDOW, algorithm == RL_SLIDING_WINDOW, true);
	rl_limiter_set(&slot, algorithm);
	assert_true(rl_overflow_limiter(&slot, &s->overflow));
	s->capacity = capacity;
	s->epoch = epoch;
}

static uint64_t
until(const struct shared *s)
{
	return (s->epoch + 2) * WINDOW;
}

/* What it counts of the key in the newest epoch. */
static struct rl_overflow_parts
count_of(const struct shared *s, unsigned key, struct rl_u128 *seen)
{
	struct rl_overflow_parts p = {.epoch = s->epoch};

	if (!s->counts)
		return p;
	assert_true(
		rl_overflow_unpack(&s->overflow, s->word, SERIAL, until(s), lanes_of(key), seen));
	p = rl_overflow_parts_of(&s->overflow, *seen);
	assert_true(p.epoch <= s->epoch);
	if (p.epoch == s->epoch)
		return p;
	p.sum = p.epoch + 1 == s->epoch && s->overflow.window.count > 0 ? p.cur : 0;
	p.cur = 0;
	p.epoch = s->epoch;
	return p;
}

static void
store(struct shared *s, unsigned key, const struct rl_u128 *seen, struct rl_overflow_parts p)
{
	s->word = rl_overflow_pack(&s->overflow, s->word, s->counts ? seen : NULL,
	                           rl_overflow_count_of(&p), lanes_of(key), SERIAL,
	                           rl_overflow_folds(s->word) + 1);
	s->counts = true;
}

static void
move_on(struct shared *s, unsigned epochs)
{
	s->epoch += epochs;
	for (unsigned i = 0; i < KEYS && epochs > 0; i++) {
		s->key[i].sum = epochs == 1 && s->overflow.window.count > 0 ? s->key[i].cur : 0;
		s->key[i].cur = 0;
	}
}

static void
assert_none_is_too_low(const struct shared *s)
{
	struct rl_u128 seen;

	for (unsigned i = 0; i < KEYS; i++) {
		struct rl_overflow_parts p = count_of(s, i, &seen);

		assert_true(p.cur >= s->key[i].cur);
		assert_true(p.sum >= s->key[i].sum);
	}
}

/* A charge of the key, or a slot of it that is folded, which has been charged meanwhile. */
static void
step(struct shared *s, uint64_t *seed)
{
	unsigned key = (unsigned)test_below(seed, KEYS);
	uint32_t cost = 1 + (uint32_t)test_below(seed, 1 + s->capacity / 8);
	bool is_fold = test_below(seed, 8) == 0;
	struct rl_u128 seen = {0};
	struct rl_overflow_parts p = count_of(s, key, &seen);
	struct admitted *own = &s->key[key];

	if (is_fold && own->cur + own->sum + cost <= s->capacity)
		own->cur += cost;
	else if (!is_fold && p.cur + p.sum + cost <= s->capacity)
		own->cur += cost;
	else
		return;
	p.cur = is_fold ? (p.cur > own->cur ? p.cur : own->cur) : p.cur + cost;
	store(s, key, &seen, p);
	assert_none_is_too_low(s);
}

/* However many lanes there are, and become, no key's count is below what it was admitted. */
static void
test_no_key_is_counted_too_little(void **state)
{
	static const uint32_t capacities[] = {
		1, 7, 31, 33, 70, 2047, 2500, 1U << 23, RL_CAPACITY_MAX};
	uint64_t seed = 39;

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof capacities / sizeof *capacities; i++) {
		struct shared s;

		begin(&s, i % 2 ? RL_SLIDING_WINDOW : RL_FIXED_WINDOW, capacities[i / 2],
		      1000000 + test_below(&seed, 1000000));
		for (unsigned n = 0; n < STEPS; n++) {
			if (test_below(&seed, 40) == 0)
				move_on(&s, (unsigned)test_below(&seed, 4));
			step(&s, &seed);
		}
	}
}

/* A key that is alone is counted what it was admitted, and one with no lane of it nothing. */
static void
test_a_key_alone_is_counted_exactly(void **state)
{
	static const uint32_t counts[] = {1, 31, 32, 2047, 2048, (1U << 22) - 1};
	struct shared s;
	struct rl_u128 seen = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct rl_overflow_parts p;

		begin(&s, RL_SLIDING_WINDOW, RL_CAPACITY_MAX, 100);
		p = (struct rl_overflow_parts){.epoch = 100, .cur = counts[i]};
		store(&s, 0, &seen, p); /* the first two lanes */
		assert_int_equal(count_of(&s, 0, &seen).cur, counts[i]);
		for (unsigned key = 0; key < KEYS; key++)
			if ((lanes_of(key) & 7) >= 4 && lanes_of(key) >> 3 >= 4)
				assert_int_equal(count_of(&s, key, &seen).cur, 0);
		move_on(&s, 1);
		assert_int_equal(count_of(&s, 0, &seen).sum, counts[i]);
		move_on(&s, 1);
		assert_int_equal(count_of(&s, 0, &seen).sum, 0);
	}
}

/* The lanes are more again once what counts has room in more. */
static void
test_lanes_become_more_again(void **state)
{
	struct rl_u128 seen = {0};
	struct shared s;
	struct rl_overflow_parts p = {.epoch = 100, .cur = 3000};

	(void)state;
	begin(&s, RL_SLIDING_WINDOW, 10000, 100);
	store(&s, 0, &seen, p);
	move_on(&s, 2);
	p = count_of(&s, 0, &seen);
	p.cur = 1;
	store(&s, 0, &seen, p);
	for (unsigned key = 0; key < KEYS; key++)
		if ((lanes_of(key) & 7) > 1 || lanes_of(key) >> 3 > 1)
			assert_int_equal(count_of(&s, key, &seen).cur, 0);
}

/* The whole epoch is known for 2^18 windows, and after that it is later than it was. */
static void
test_an_epoch_is_never_read_too_old(void **state)
{
	static const uint64_t later[] = {0, 1, (1 << 18) - 3, 1 << 18, 3 << 18};
	const uint64_t epoch = 1234567;
	struct rl_u128 seen = {0};
	struct shared s;

	(void)state;
	for (unsigned i = 0; i < sizeof later / sizeof *later; i++) {
		uint64_t read;

		begin(&s, RL_SLIDING_WINDOW, 10, epoch);
		store(&s, 0, &seen, (struct rl_overflow_parts){.epoch = epoch, .cur = 3});
		assert_true(rl_overflow_unpack(&s.overflow, s.word, SERIAL,
		                               until(&s) + later[i] * WINDOW, lanes_of(0), &seen));
		read = rl_overflow_parts_of(&s.overflow, seen).epoch;
		assert_true(later[i] >= 1 << 18 ? read > epoch : read == epoch);
	}
	assert_false(rl_overflow_unpack(&s.overflow, s.word, SERIAL + 1, until(&s), 0, &seen));
	assert_int_equal(seen.lo | seen.hi, 0);
	assert_false(rl_overflow_unpack(&s.overflow, s.word, SERIAL, 0, 0, &seen));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_key_is_counted_too_little),
		cmocka_unit_test(test_a_key_alone_is_counted_exactly),
		cmocka_unit_test(test_lanes_become_more_again),
		cmocka_unit_test(test_an_epoch_is_never_read_too_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
