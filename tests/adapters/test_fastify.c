/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What @fastify/rate-limit asks of a store, beside arrays: times frozen and moving, windows that
 * change.
 */
#include <stdio.h>
#include <string.h>

#include "adapters/fastify.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 5
#define WORKERS 4
#define HITS 2000 /* of each worker */

static struct fastify
store_in(struct rl *rl)
{
	struct fastify s;

	assert_int_equal(fastify_open(&s, rl, "fastify"), 0);
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

/* By definition: a window that begins with the first hit, or anew with one, to the millisecond. */
struct naive {
	uint64_t hits, end_ms;
	bool is_there;
};

static uint64_t
ms_up(uint64_t ns)
{
	return (ns + RL_MILLISECOND - 1) / RL_MILLISECOND;
}

static void
naive_begin(struct naive *n, uint64_t window_ms, uint64_t now_ns)
{
	*n = (struct naive){.end_ms = ms_up(now_ns + window_ms * RL_MILLISECOND), .is_there = true};
}

static bool
is_alive(const struct naive *n, uint64_t now_ns)
{
	return n->is_there && now_ns < n->end_ms * RL_MILLISECOND;
}

static void
naive_fastify(struct naive *n, uint64_t window_ms, uint64_t max, enum fastify_beyond beyond,
              uint64_t now_ns)
{
	bool was = is_alive(n, now_ns);
	uint64_t hits = was ? n->hits + 1 : 1;

	if (beyond == FASTIFY_BACKOFF && hits > max)
		window_ms <<= hits - max - 1;
	if (!was || (beyond != FASTIFY_KEEP && hits > max))
		naive_begin(n, window_ms, now_ns);
	n->hits = hits;
}

/* Window and limit are others with each hit. */
static void
play_fastify(enum fastify_beyond beyond)
{
	struct naive naive[KEYS] = {0};
	struct rl *rl = test_private(100);
	struct fastify s = store_in(rl);
	uint64_t seed = 3 + beyond, now_ns = T0;
	struct fastify_hits hits;
	struct key key;

	for (uint64_t i = 0; i < test_scaled(40000); i++) {
		uint64_t window_ms = 1 + test_below(&seed, 1000), max = 3 + test_below(&seed, 3);
		size_t k = test_below(&seed, KEYS);
		now_ns += test_below(&seed, 4) > 0 ? 0 : test_below(&seed, 2 * RL_SECOND);
		if (naive[k].hits > 20) /* not for ever */
			now_ns = naive[k].end_ms * RL_MILLISECOND;
		naive_fastify(&naive[k], window_ms, max, beyond, now_ns);
		assert_int_equal(fastify_incr(&s, key_number(&key, k), window_ms, max, beyond,
		                              now_ns, &hits),
		                 1);
		assert_int_equal(hits.current, naive[k].hits);
		assert_int_equal(hits.ttl_ms, ms_up(naive[k].end_ms * RL_MILLISECOND - now_ns));
	}
	rl_close(rl);
}

static void
test_fastify(void **state)
{
	(void)state;
	play_fastify(FASTIFY_KEEP);
	play_fastify(FASTIFY_CONTINUE);
	play_fastify(FASTIFY_BACKOFF);
}

static void
test_a_long_backoff(void **state)
{
	struct rl *rl = test_private(100);
	struct fastify s = store_in(rl);
	struct fastify_hits hits;
	struct key key;
	const struct key *k = key_number(&key, 0);

	(void)state;
	for (uint64_t i = 1; i <= 200; i++) {
		assert_int_equal(fastify_incr(&s, k, 1000, 1, FASTIFY_BACKOFF, T0, &hits), 1);
		assert_int_equal(hits.current, i);
		assert_true(hits.ttl_ms <= 400 * UINT64_C(86400000));
	}
	rl_close(rl);
}

/*
 * With each hit beyond `max` a new end, at once: none counts as one of the first `max` again. No
 * clock is a window behind another, for a hit by such a one would set an end that is over.
 */
static int
work(void *arg, int i)
{
	int *within = arg;
	struct fastify_hits hits;
	struct fastify s;
	struct rl *rl;
	struct key key;

	if (rl_open(test_segment_name(), NULL, &rl) < 0 || fastify_open(&s, rl, "fastify") < 0)
		return 1;
	for (int n = 0; n < HITS; n++) {
		fastify_incr(&s, key_number(&key, 0), 1000, 30, FASTIFY_CONTINUE,
		             T0 + (uint64_t)n * RL_MILLISECOND / 10, &hits);
		within[i] += hits.current <= 30;
	}
	rl_close(rl);
	return 0;
}

static void
test_workers(void **state)
{
	int *within = test_shared(WORKERS * sizeof *within);

	(void)state;
	test_segment_name(); /* the children's, too */
	test_fork(WORKERS, work, within);
	assert_int_equal(within[0] + within[1] + within[2] + within[3], 30);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fastify),
		cmocka_unit_test(test_a_long_backoff),
		cmocka_unit_test_teardown(test_workers, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
