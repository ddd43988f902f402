/* SPDX-License-Identifier: BSD-2-Clause */
/* What express-rate-limit asks of its store, beside arrays: times frozen and moving. */
#include <stdio.h>
#include <string.h>

#include "adapters/express.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 5
#define WORKERS 4
#define HITS 2000 /* of each worker */

static struct express
store_in(struct rl *rl, uint64_t window_ms, uint32_t limit)
{
	struct express s;

	assert_int_equal(express_init(&s, rl, "express:/login", window_ms, limit), 0);
	return s;
}

static const struct key *
key_number(struct key *k, size_t i)
{
	static char text[KEYS][2 * RL_KEY_MAX];

	memset(text[i], 'u', i * 1300); /* the last is longer than rl takes */
	sprintf(text[i] + i * 1300, ":%zu", i);
	return key_of(k, text[i], strlen(text[i]));
}

static uint64_t
a_step(uint64_t *seed)
{
	return test_below(seed, 4) > 0 ? 0 : test_below(seed, RL_SECOND);
}

/* By definition: a window that begins with the first hit. */
struct naive {
	uint64_t hits, end_ns;
};

static uint64_t
ms_up(uint64_t ns)
{
	return (ns + RL_MILLISECOND - 1) / RL_MILLISECOND;
}

static bool
is_alive(const struct naive *n, uint64_t now_ns)
{
	return now_ns < n->end_ns;
}

static void
expect_client(const struct express *s, const struct naive *n, const struct key *k, uint64_t now_ns)
{
	struct express_client client;

	assert_int_equal(express_get(s, k, now_ns, &client), 0);
	assert_int_equal(client.total_hits, is_alive(n, now_ns) ? n->hits : 0);
	if (client.total_hits > 0)
		assert_int_equal(client.reset_ms, ms_up(n->end_ns));
}

static void
play(const struct express *s, struct naive *n, const struct key *k, uint64_t now_ns, uint64_t *seed)
{
	struct express_client client;

	if (!is_alive(n, now_ns))
		n->hits = 0;
	switch (test_below(seed, 12)) {
	case 0:
		assert_true(express_reset_key(s, k) >= (n->hits > 0));
		*n = (struct naive){0};
		break;
	case 1:
	case 2:
	case 3: /* skipSuccessfulRequests: the answer was a good one */
		assert_int_equal(express_decrement(s, k, now_ns), n->hits > 0);
		n->hits -= n->hits > 0;
		break;
	default:
		if (!is_alive(n, now_ns))
			n->end_ns = now_ns + 3 * RL_SECOND;
		n->hits++;
		assert_int_equal(express_increment(s, k, now_ns, &client), 0);
		assert_int_equal(client.total_hits, n->hits);
		assert_int_equal(client.reset_ms, ms_up(n->end_ns));
	}
	expect_client(s, n, k, now_ns);
}

static void
test_store(void **state)
{
	struct naive naive[KEYS] = {0};
	struct rl *rl = test_private(100);
	struct express s = store_in(rl, 3000, 3);
	uint64_t seed = 1, now_ns = T0;
	struct key key;

	(void)state;
	for (uint64_t i = 0; i < test_scaled(100000); i++) {
		size_t k = test_below(&seed, KEYS);
		now_ns += a_step(&seed);
		play(&s, &naive[k], key_number(&key, k), now_ns, &seed);
	}
	rl_close(rl);
}

/* The middleware's answer to many requests at one time, and to the first after the window. */
static void
test_beyond_the_limit(void **state)
{
	struct rl *rl = test_private(100);
	struct express s = store_in(rl, 60000, 100);
	struct express_client client;
	struct key key;
	const struct key *k = key_of(&key, "203.0.113.7", 11);

	(void)state;
	for (uint64_t i = 1; i <= 105; i++) {
		express_increment(&s, k, T0 + i * RL_MILLISECOND, &client);
		assert_int_equal(client.total_hits, i); /* 101, 102 .. of 100 */
		assert_int_equal(client.reset_ms, T0 / RL_MILLISECOND + 60001);
	}
	express_increment(&s, k, T0 + 60001 * RL_MILLISECOND - 1, &client);
	assert_int_equal(client.total_hits, 106);
	express_increment(&s, k, T0 + 60001 * RL_MILLISECOND, &client);
	assert_int_equal(client.total_hits, 1);
	rl_close(rl);
}

/* Of two limiters, in one segment, each has its own; one place for each key. */
static void
test_reset_all(void **state)
{
	struct rl *rl = test_private(100);
	struct express s = store_in(rl, 60000, 100), other;
	struct rl_reset_counts counts;
	struct express_client client;
	struct rl_info info;
	struct key key;

	(void)state;
	assert_int_equal(express_init(&other, rl, "express:/search", 1000, 0), 0);
	for (size_t i = 0; i < 3 * KEYS; i++) {
		express_increment(&s, key_number(&key, i % KEYS), T0, &client);
		express_increment(&other, key_number(&key, i % KEYS), T0, &client);
	}
	assert_int_equal(express_reset_all(&s), 0);
	for (size_t i = 0; i < KEYS; i++) {
		express_get(&s, key_number(&key, i), T0, &client);
		assert_int_equal(client.total_hits, 0);
		express_get(&other, key_number(&key, i), T0, &client);
		assert_int_equal(client.total_hits, 3);
	}
	assert_int_equal(rl_reset_matching(rl, RL_ANY_RULE, NULL, &counts), 0);
	assert_int_equal(counts.forgotten, KEYS);
	rl_info(rl, &info);
	assert_int_equal(info.rules_used, 2);
	rl_close(rl);
}

/*
 * Whoever is banned, as by an administrator, is refused by the middleware, and waits for the ban's
 * end.
 */
static void
test_a_ban(void **state)
{
	struct rl *rl = test_private(100);
	struct express s = store_in(rl, 60000, 100);
	struct rl_pattern pattern = {RL_MATCH_KEY, "203.0.113.7", 11};
	struct express_client client;
	struct key key;
	const struct key *k = key_of(&key, "203.0.113.7", 11);

	(void)state;
	express_increment(&s, k, T0, &client);
	assert_int_equal(rl_ban(rl, s.rule, &pattern, T0 + 600 * RL_SECOND), 0);
	assert_int_equal(express_increment(&s, k, T0, &client), 0);
	assert_int_equal(client.total_hits, 101);
	assert_int_equal(client.reset_ms, ms_up(T0 + 600 * RL_SECOND));
	assert_int_equal(rl_ban(rl, s.rule, &pattern, RL_NEVER_NS), 0);
	express_increment(&s, k, T0, &client);
	assert_int_equal(client.reset_ms, ms_up(RL_NEVER_NS - RL_MILLISECOND) + 1);
	assert_int_equal(rl_unban(rl, s.rule, &pattern), 1);
	express_increment(&s, k, T0, &client);
	assert_int_equal(client.total_hits, 2);
	rl_close(rl);
}

/* Each number of hits is told to one worker. */
static int
work(void *arg, int i)
{
	uint8_t *told = arg;
	struct express_client client;
	struct express s;
	struct rl *rl;
	struct key key;

	if (rl_open(test_segment_name(), NULL, &rl) < 0 ||
	    express_init(&s, rl, "express:/login", 60000, 100) < 0)
		return 1;
	for (int n = 0; n < HITS; n++) {
		if (express_increment(&s, key_number(&key, 0), T0 + (uint64_t)i, &client) < 0)
			return 1;
		__atomic_fetch_add(&told[client.total_hits], 1, __ATOMIC_RELAXED);
	}
	rl_close(rl);
	return 0;
}

static void
test_workers(void **state)
{
	uint8_t *told = test_shared(WORKERS * HITS + 1);

	(void)state;
	test_segment_name(); /* the children's, too */
	test_fork(WORKERS, work, told);
	for (int hits = 1; hits <= WORKERS * HITS; hits++)
		assert_int_equal(told[hits], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_beyond_the_limit),
		cmocka_unit_test(test_reset_all),
		cmocka_unit_test(test_a_ban),
		cmocka_unit_test_teardown(test_workers, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
