/* SPDX-License-Identifier: BSD-2-Clause */
/* What the Python library limits asks of its storage, beside arrays: times frozen and moving. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/limits.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 4
#define ENTRIES 30000
#define WORKERS 4

/* What has happened to one key, by definition. */
struct naive {
	uint64_t value, end_ns; /* a fixed window's */
	uint64_t entries[ENTRIES];
	size_t count; /* of entries, the newest last */
};

static struct naive naive[KEYS];

/*
 * As strategies build them, from an address, a route and the limit; some are longer than rl takes.
 */
static const struct key *
key_number(struct key *k, size_t i)
{
	static char text[KEYS][3 * RL_KEY_MAX];
	static const size_t lengths[KEYS] = {20, 60, RL_KEY_MAX, 2 * RL_KEY_MAX};

	if (text[i][0] == '\0') {
		memset(text[i], 'r', lengths[i]);
		memcpy(text[i], "LIMITER/203.0.113.7/", 20);
		sprintf(text[i] + lengths[i], "/10/1/minute%zu", i);
	}
	return key_of(k, text[i], strlen(text[i]));
}

static struct limits
storage_in(struct rl *rl)
{
	struct limits s;

	assert_true(limits_open(&s, rl) >= 0);
	assert_int_equal(limits_check(&s), 1);
	memset(naive, 0, sizeof naive);
	return s;
}

/* Half of all calls come at one time, some after whole windows. */
static uint64_t
a_step(uint64_t *seed, uint64_t window_ns)
{
	switch (test_below(seed, 8)) {
	case 0:
		return test_below(seed, 2 * window_ns);
	case 1:
	case 2:
	case 3:
		return test_below(seed, window_ns / 16);
	default:
		return 0;
	}
}

static uint64_t
ms_up(uint64_t ns)
{
	return (ns + RL_MILLISECOND - 1) / RL_MILLISECOND * RL_MILLISECOND;
}

static bool
is_alive(const struct naive *n, uint64_t now_ns)
{
	return n->end_ns > now_ns;
}

static void
play_fixed(const struct limits *s, size_t i, uint64_t now_ns, uint64_t *seed)
{
	uint32_t amount = 1 + (uint32_t)test_below(seed, 3);
	uint32_t expiry = 1 + (uint32_t)test_below(seed, 3);
	struct naive *n = &naive[i];
	uint64_t end_ns;
	struct key key;
	const struct key *k = key_number(&key, i);

	if (test_below(seed, 12) == 0) {
		assert_true(limits_forget(s, k) >= is_alive(n, now_ns));
		n->end_ns = 0;
	} else {
		if (!is_alive(n, now_ns))
			*n = (struct naive){.end_ns = ms_up(now_ns + expiry * RL_SECOND)};
		n->value += amount;
		assert_int_equal(limits_incr(s, k, expiry, amount, now_ns), n->value);
	}
	assert_int_equal(limits_get(s, k, now_ns, &end_ns), is_alive(n, now_ns) ? n->value : 0);
	assert_int_equal(end_ns, is_alive(n, now_ns) ? n->end_ns : now_ns);
}

static void
test_fixed_windows(void **state)
{
	struct rl *rl = test_private(100);
	struct limits s = storage_in(rl);
	uint64_t seed = 1, now_ns = T0, end_ns;
	struct key key;

	(void)state;
	for (uint64_t i = 0; i < test_scaled(40000); i++) {
		now_ns += a_step(&seed, 2 * RL_SECOND);
		play_fixed(&s, test_below(&seed, KEYS), now_ns, &seed);
	}
	for (size_t i = 0; i < KEYS; i++)
		limits_incr(&s, key_number(&key, i), 60, 1, now_ns);
	assert_int_equal(limits_forget(&s, NULL), KEYS); /* one place each */
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(limits_get(&s, key_number(&key, i), now_ns, &end_ns), 0);
	rl_close(rl);
}

/* How many entries are younger. */
static uint32_t
entries_within(const struct naive *n, uint64_t age_ns, uint64_t now_ns)
{
	size_t i = n->count;

	while (i > 0 && now_ns - n->entries[i - 1] < age_ns)
		i--;
	return (uint32_t)(n->count - i);
}

static void
enter(struct naive *n, uint32_t amount, uint64_t now_ns)
{
	while (amount-- > 0) {
		assert_true(n->count < ENTRIES);
		n->entries[n->count++] = now_ns;
	}
}

static void
play_moving(const struct limits *s, const struct limits_window *w, size_t i, uint64_t now_ns,
            uint64_t *seed)
{
	uint64_t window_ns = w->expiry * RL_SECOND, start_ns;
	struct naive *n = &naive[i];
	uint32_t amount = (uint32_t)test_below(seed, w->limit + 2); /* none, and too many */
	uint32_t there = entries_within(n, window_ns, now_ns);
	struct key key;
	const struct key *k = key_number(&key, i);

	if (test_below(seed, 20) == 0) {
		assert_true(limits_forget(s, k) >= (there > 0));
		n->count = 0;
	} else if (there + amount <= w->limit) {
		assert_int_equal(limits_acquire(s, w, k, amount, now_ns), 1);
		enter(n, amount, now_ns);
	} else {
		assert_int_equal(limits_acquire(s, w, k, amount, now_ns), 0);
	}
	there = entries_within(n, window_ns, now_ns);
	assert_int_equal(limits_get_moving(s, w, k, now_ns, &start_ns), there);
	assert_int_equal(start_ns, there > 0 ? n->entries[n->count - there] : now_ns);
}

static void
test_moving_windows(void **state)
{
	const struct limits_window w = {LIMITS_MOVING, 10, 60};
	struct rl *rl = test_private(100);
	struct limits s = storage_in(rl);
	uint64_t seed = 2, now_ns = T0;
	struct rl_info info;

	(void)state;
	for (uint64_t i = 0; i < test_scaled(20000); i++) {
		now_ns += a_step(&seed, w.expiry * RL_SECOND);
		play_moving(&s, &w, test_below(&seed, KEYS), now_ns, &seed);
	}
	rl_info(rl, &info);
	assert_int_equal(info.rules_used, 2); /* of all keys, and the counters */
	rl_close(rl);
}

/*
 * Where a log has no room for the limit: never too many, and none later than a part of the window.
 */
static void
test_moving_windows_in_parts(void **state)
{
	const struct limits_window w = {LIMITS_MOVING, 1000, 64};
	const uint64_t window_ns = w.expiry * RL_SECOND;
	struct rl *rl = test_private(100);
	struct limits s = storage_in(rl);
	uint64_t seed = 3, now_ns = T0, start_ns;
	struct naive *n = &naive[0];
	struct key key;
	const struct key *k = key_number(&key, 1);

	(void)state;
	for (uint64_t i = 0; i < test_scaled(4000) && n->count < ENTRIES - 1000; i++) {
		uint32_t amount = 1 + (uint32_t)test_below(&seed, 100);
		now_ns += a_step(&seed, window_ns);
		if (limits_acquire(&s, &w, k, amount, now_ns) == 1)
			enter(n, amount, now_ns);
		else
			assert_true(entries_within(n, window_ns + RL_SECOND, now_ns) + amount >
			            w.limit);
		assert_true(entries_within(n, window_ns, now_ns) <= w.limit);
		assert_true(limits_get_moving(&s, &w, k, now_ns, &start_ns) >=
		            (int)entries_within(n, window_ns, now_ns));
		assert_true(start_ns <= now_ns + RL_SECOND);
	}
	rl_close(rl);
}

/* Of a window that begins at a multiple of its length. */
static uint64_t
entries_of(const struct naive *n, uint64_t start_ns, uint64_t window_ns)
{
	uint64_t sum = 0;

	for (size_t i = n->count; i > 0 && n->entries[i - 1] >= start_ns; i--)
		sum += n->entries[i - 1] < start_ns + window_ns;
	return sum;
}

static void
play_sliding(const struct limits *s, const struct limits_window *w, size_t i, uint64_t now_ns,
             uint64_t *seed)
{
	uint64_t window_ns = w->expiry * RL_SECOND, left = window_ns - now_ns % window_ns;
	uint64_t start_ns = now_ns - now_ns % window_ns;
	struct naive *n = &naive[i];
	uint64_t previous = entries_of(n, start_ns - window_ns, window_ns);
	uint64_t current = entries_of(n, start_ns, window_ns);
	unsigned __int128 share = (unsigned __int128)previous * left;
	uint32_t amount = 1 + (uint32_t)test_below(seed, w->limit / 25);
	struct limits_sliding counts;
	struct key key;
	const struct key *k = key_number(&key, i);
	int got = limits_acquire(s, w, k, amount, now_ns);

	/* limits rounds down, and so admits as much, or one more */
	assert_int_equal(got, (share + window_ns - 1) / window_ns + current + amount <= w->limit);
	assert_true(!got || share / window_ns + current + amount <= w->limit);
	if (got)
		enter(n, amount, now_ns);
	current += got ? amount : 0;
	assert_int_equal(limits_get_sliding(s, w, k, now_ns, &counts), 0);
	assert_int_equal(counts.current, current);
	assert_int_equal(counts.current_ns, left + window_ns);
	assert_int_equal(counts.previous_ns, previous > 0 ? left : 0);
	assert_true(counts.previous >= previous);
	assert_true((unsigned __int128)counts.previous * left / window_ns <=
	            (share + window_ns - 1) / window_ns);
}

static void
test_sliding_windows(void **state)
{
	const struct limits_window w = {LIMITS_SLIDING, 100, 60};
	struct rl *rl = test_private(100);
	struct limits s = storage_in(rl);
	uint64_t seed = 4, now_ns = T0;

	(void)state;
	for (uint64_t i = 0; i < test_scaled(20000); i++) {
		now_ns += a_step(&seed, w.expiry * RL_SECOND);
		play_sliding(&s, &w, test_below(&seed, KEYS), now_ns, &seed);
	}
	rl_close(rl);
}

static void
test_a_year_of_sliding_windows(void **state)
{
	const struct limits_window w = {LIMITS_SLIDING, 5000, 360 * 86400};
	struct rl *rl = test_private(100);
	struct limits s = storage_in(rl);
	uint64_t seed = 5, now_ns = T0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		now_ns += a_step(&seed, w.expiry * RL_SECOND);
		play_sliding(&s, &w, 0, now_ns, &seed);
	}
	rl_close(rl);
}

/* Many limits, of few windows, need few rules; another process knows all of them. */
static void
test_many_limits(void **state)
{
	struct rl *rl = test_private(1000);
	struct limits s = storage_in(rl), other;
	struct rl_info info;
	struct key k;
	char text[64];

	(void)state;
	for (uint32_t i = 1; i <= 300; i++) {
		struct limits_window w = {i % 2 ? LIMITS_MOVING : LIMITS_SLIDING, i, 60};
		int len = snprintf(text, sizeof text, "LIMITER/c/%u/1/minute", i);
		key_of(&k, text, (size_t)len);
		for (uint32_t n = 0; n < i + 3; n++)
			assert_int_equal(limits_acquire(&s, &w, &k, 1, T0), n < i);
	}
	rl_info(rl, &info);
	assert_int_equal(info.rules_used, 4);
	limits_open(&other, rl);
	assert_int_equal(limits_forget(&other, &k), 1);
	assert_int_equal(limits_forget(&other, NULL), 299);
	rl_close(rl);
}

struct work {
	uint64_t admitted[WORKERS];
	uint64_t first[WORKERS]; /* whose count was not above 50 */
};

static int
work(void *arg, int i)
{
	const struct limits_window w = {LIMITS_MOVING, 30, 60};
	struct work *done = arg;
	struct limits s;
	struct rl *rl;
	struct key k;

	if (rl_open(test_segment_name(), NULL, &rl) < 0 || limits_open(&s, rl) < 0)
		return 1;
	for (int n = 0; n < 1000; n++) {
		key_of(&k, "LIMITER/c/30/1/minute", 21);
		done->admitted[i] += limits_acquire(&s, &w, &k, 1, T0 + (uint64_t)n) == 1;
		key_of(&k, "LIMITER/c/50/1/minute", 21);
		done->first[i] += limits_incr(&s, &k, 60, 1, T0 + (uint64_t)n) <= 50;
	}
	rl_close(rl);
	return 0;
}

static void
test_workers(void **state)
{
	struct work *done = test_shared(sizeof *done);
	uint64_t admitted = 0, first = 0;

	(void)state;
	test_segment_name(); /* the children's, too */
	test_fork(WORKERS, work, done);
	for (int i = 0; i < WORKERS; i++) {
		admitted += done->admitted[i];
		first += done->first[i];
	}
	assert_int_equal(admitted, 30);
	assert_int_equal(first, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_windows),
		cmocka_unit_test(test_moving_windows),
		cmocka_unit_test(test_moving_windows_in_parts),
		cmocka_unit_test(test_sliding_windows),
		cmocka_unit_test(test_a_year_of_sliding_windows),
		cmocka_unit_test(test_many_limits),
		cmocka_unit_test_teardown(test_workers, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
