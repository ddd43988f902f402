/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit_req on a segment beside nginx's own leaky bucket, which counts a key's excess in
 * thousandths of a request and reads a clock of milliseconds.
 *
 * With whole requests a second and whole milliseconds nginx is exact, and both say the same.
 * Otherwise:
 *
 * - nginx sees a request at the millisecond it came in. Both queues then end less than 1 ms apart.
 *   For nginx begins one at most 1 ms too early, and what follows adds the same to both. So
 *   decisions differ where the queue is less than 1 ms longer or shorter than the burst.
 * - nginx rounds a rate per minute down to thousandths of a request per second, and what a queue
 *   loses in a while to thousandths of a request. Its queue is never shorter than the exact one,
 *   and grows longer by less than a thousandth for each request and each second until it is empty.
 */
#include <string.h>

#include "adapters/nginx_zone.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define T0_MS (T0 / RL_MILLISECOND)
#define KEYS 3
#define ZONES 3
#define WORKERS 4

/* A key's node in nginx's tree. */
struct naive {
	int64_t rate; /* 1/1000 requests a second */
	int64_t excess, last_ms;
	bool is_there;
};

static int64_t
naive_excess(const struct naive *n, uint64_t now_ms)
{
	int64_t ms = (int64_t)now_ms - n->last_ms;
	int64_t excess = n->is_there ? n->excess - n->rate * ms / 1000 + 1000 : 0;

	return excess > 0 ? excess : 0;
}

static void
naive_account(struct naive *n, uint64_t now_ms)
{
	n->excess = naive_excess(n, now_ms);
	n->last_ms = (int64_t)now_ms;
	n->is_there = true;
}

static bool
naive_is_over(const struct naive *n, const struct nginx_limit *l, uint64_t now_ms)
{
	return naive_excess(n, now_ms) > (int64_t)l->burst * 1000;
}

static uint64_t
naive_delay(const struct naive *n, const struct nginx_limit *l, uint64_t now_ms)
{
	int64_t beyond = naive_excess(n, now_ms) - (int64_t)l->undelayed * 1000;

	return beyond > 0 ? (uint64_t)(beyond * 1000 / n->rate) : 0;
}

/* One request under several zones, n[i] the node of its key in zone i. */
static int
naive_request(struct naive *n[], const struct nginx_limit *l, size_t count, bool is_dry_run,
              uint64_t now_ms, uint64_t *delay_ms)
{
	uint64_t longest = 0;

	*delay_ms = 0;
	for (size_t i = 0; i < count; i++)
		if (naive_is_over(n[i], &l[i], now_ms))
			return is_dry_run ? NGINX_REJECTED_DRY_RUN : NGINX_REJECTED;
	for (size_t i = 0; i < count; i++) {
		uint64_t delay = naive_delay(n[i], &l[i], now_ms);
		longest = delay > longest ? delay : longest;
		naive_account(n[i], now_ms);
	}
	*delay_ms = is_dry_run ? 0 : longest;
	if (longest == 0)
		return NGINX_PASSED;
	return is_dry_run ? NGINX_DELAYED_DRY_RUN : NGINX_DELAYED;
}

/* Each place has its burst, and none, some or all of it undelayed. */
static struct nginx_limit
a_place(int zone, uint64_t *seed)
{
	struct nginx_limit l = {.zone = zone, .burst = (uint32_t)test_below(seed, 7)};

	l.undelayed = (uint32_t)test_below(seed, l.burst + 1);
	return l;
}

static const struct key *
key_number(struct key *k, size_t i)
{
	static char text[KEYS][2 * RL_KEY_MAX];

	memset(text[i], 'a' + (int)i, sizeof text[i]);
	return key_of(k, text[i], i * 3000 + 10);
}

static int
zone_of(struct rl *rl, const char *name, uint32_t rate, char per)
{
	int zone = nginx_zone(rl, name, rate, per);

	assert_true(zone >= 0);
	return zone;
}

/* Half of the requests come at one time. */
static uint64_t
a_step(uint64_t *seed, uint64_t most)
{
	return test_below(seed, 2) == 0 ? 0 : test_below(seed, most);
}

static void
play_places(struct rl *rl, uint64_t *seed)
{
	static const char *const names[ZONES] = {"one", "perip", "perserver"};
	struct naive naive[ZONES][KEYS] = {0};
	uint64_t now_ms = T0_MS;
	int zones[ZONES];

	for (size_t z = 0; z < ZONES; z++) {
		uint32_t rate = 1 + (uint32_t)test_below(seed, test_below(seed, 2) ? 20 : 1000);
		zones[z] = zone_of(rl, names[z], rate, 's');
		for (size_t k = 0; k < KEYS; k++)
			naive[z][k].rate = rate * 1000;
	}
	for (int i = 0; i < 300; i++) {
		size_t count = 1 + test_below(seed, ZONES), first = test_below(seed, ZONES);
		bool is_dry_run = test_below(seed, 5) == 0;
		struct nginx_limit l[ZONES];
		struct naive *n[ZONES];
		struct key keys[ZONES];
		uint64_t want_ms, delay_ms;
		now_ms += a_step(seed, 400);
		for (size_t z = 0; z < count; z++) {
			size_t k = test_below(seed, KEYS), zone = (first + z) % ZONES;
			l[z] = a_place(zones[zone], seed);
			n[z] = &naive[zone][k];
			key_number(&keys[z], k);
		}
		int want = naive_request(n, l, count, is_dry_run, now_ms, &want_ms);
		assert_int_equal(nginx_limit_req(rl, l, keys, count, is_dry_run,
		                                 now_ms * RL_MILLISECOND, &delay_ms),
		                 want);
		assert_int_equal(delay_ms, want_ms);
	}
}

static void
test_places(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (uint64_t run = 0; run < test_scaled(400); run++) {
		struct rl *rl = test_private(100);
		struct rl_reset_counts counts;
		struct rl_info info;
		play_places(rl, &seed);
		rl_info(rl, &info);
		assert_int_equal(info.rules_used, ZONES);
		assert_int_equal(rl_reset_matching(rl, RL_ANY_RULE, NULL, &counts), 0);
		assert_true(counts.forgotten <= ZONES * KEYS);
		rl_close(rl);
	}
}

/*
 * What rl decides, both account, or none. Where nginx would decide otherwise, it is by less than 1
 * ms.
 */
static unsigned
play_between_milliseconds(uint32_t rate, uint64_t *seed)
{
	struct rl *rl = test_private(20);
	struct naive n = {.rate = rate * 1000};
	int zone = zone_of(rl, "one", rate, 's');
	uint64_t now_ns = T0;
	unsigned others = 0;
	struct key key;

	key_of(&key, "k", 1);
	for (int i = 0; i < 2000; i++) {
		struct nginx_limit l = a_place(zone, seed);
		uint64_t delay_ms, now_ms;
		now_ns += a_step(seed, 3 * RL_SECOND / rate);
		now_ms = now_ns / RL_MILLISECOND;
		bool passes =
			nginx_limit_req(rl, &l, &key, 1, 0, now_ns, &delay_ms) != NGINX_REJECTED;
		if (passes == naive_is_over(&n, &l, now_ms)) {
			int64_t beyond = naive_excess(&n, now_ms) - (int64_t)l.burst * 1000;
			assert_true(beyond < (int64_t)rate && beyond > -(int64_t)rate);
			others++;
		} else if (passes) {
			uint64_t want_ms = naive_delay(&n, &l, now_ms);
			assert_true(delay_ms <= want_ms + 1 && want_ms <= delay_ms + 1);
		}
		if (passes)
			naive_account(&n, now_ms);
	}
	rl_close(rl);
	return others;
}

static void
test_between_milliseconds(void **state)
{
	uint64_t seed = 2;
	unsigned others = 0;

	(void)state;
	for (uint32_t rate = 1; rate <= 400; rate++)
		others += play_between_milliseconds(rate, &seed);
	assert_true(others > 0);
}

/* By how much nginx's queue may be longer than the exact one, in thousandths. */
static int64_t
lag_after(const struct naive *n, int64_t lag, uint64_t now_ms)
{
	if (!n->is_there || naive_excess(n, now_ms) == 0)
		return 0;
	return lag + 2 + ((int64_t)now_ms - n->last_ms) / 1000;
}

static unsigned
play_per_minute(uint32_t rate, uint64_t *seed)
{
	struct rl *rl = test_private(20);
	struct naive n = {.rate = rate * 1000 / 60};
	int zone = zone_of(rl, "one", rate, 'm');
	uint64_t now_ms = T0_MS;
	unsigned others = 0;
	int64_t lag = 0;
	struct key key;

	key_of(&key, "k", 1);
	for (int i = 0; i < 2000; i++) {
		struct nginx_limit l = a_place(zone, seed);
		uint64_t delay_ms;
		now_ms += a_step(seed, 4 * 60000 / rate);
		bool passes = nginx_limit_req(rl, &l, &key, 1, 0, now_ms * RL_MILLISECOND,
		                              &delay_ms) != NGINX_REJECTED;
		if (passes == naive_is_over(&n, &l, now_ms)) {
			assert_true(passes); /* nginx is the stricter one */
			assert_true(naive_excess(&n, now_ms) - (int64_t)l.burst * 1000 <=
			            lag_after(&n, lag, now_ms));
			others++;
		}
		if (passes) {
			lag = lag_after(&n, lag, now_ms);
			naive_account(&n, now_ms);
		}
	}
	rl_close(rl);
	return others;
}

static void
test_per_minute(void **state)
{
	uint64_t seed = 3;
	unsigned others = 0;

	(void)state;
	for (uint32_t rate = 1; rate <= 200; rate++)
		others += play_per_minute(rate, &seed);
	assert_true(others > 0);
}

/* A request without the key's variable is not limited by that zone, and by another it is. */
static void
test_an_empty_key(void **state)
{
	struct rl *rl = test_private(20);
	struct nginx_limit l[] = {{.zone = zone_of(rl, "one", 10, 's')},
	                          {.zone = zone_of(rl, "two", 10, 's'), .burst = 2}};
	struct key keys[2];
	uint64_t delay_ms;

	(void)state;
	key_of(&keys[0], "", 0);
	key_of(&keys[1], "k", 1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(nginx_limit_req(rl, l, keys, 1, 0, T0, &delay_ms), NGINX_PASSED);
		int got = nginx_limit_req(rl, l, keys, 2, 0, T0, &delay_ms);
		assert_int_equal(got, i == 0  ? NGINX_PASSED
		                      : i < 3 ? NGINX_DELAYED
		                              : NGINX_REJECTED);
		assert_int_equal(delay_ms, i < 3 ? 100 * i : 0);
	}
	rl_close(rl);
}

static void
test_errors(void **state)
{
	struct rl *rl = test_private(20);
	struct nginx_limit l[NGINX_LIMITS_MAX + 1] = {{.zone = 7}};
	struct key keys[NGINX_LIMITS_MAX + 1];
	uint64_t delay_ms;

	(void)state;
	key_of(&keys[0], "k", 1);
	assert_true(nginx_limit_req(rl, l, keys, 1, 0, T0, &delay_ms) < 0);
	assert_true(nginx_limit_req(rl, l, keys, NGINX_LIMITS_MAX + 1, 0, T0, &delay_ms) < 0);
	assert_true(nginx_zone(rl, "no name", 10, 's') < 0);
	rl_close(rl);
}

/* Two zones, one of them for all; at one time, and then as many more as 2 s bring. */
static int
work(void *arg, int i)
{
	int *passed = arg;
	struct nginx_limit l[2];
	struct key keys[2];
	uint64_t delay_ms;
	struct rl *rl;

	if (rl_open(test_segment_name(), NULL, &rl) < 0)
		return 1;
	l[0] = (struct nginx_limit){nginx_zone(rl, "perip", 10, 's'), 20, 20};
	l[1] = (struct nginx_limit){nginx_zone(rl, "perserver", 1000, 's'), 100, 100};
	key_of(&keys[0], "203.0.113.7", 11);
	key_of(&keys[1], "example.com", 11);
	for (int n = 0; n < 2000; n++) {
		uint64_t now_ns = n < 1000 ? T0 : T0 + 2 * RL_SECOND;
		passed[i] += nginx_limit_req(rl, l, keys, 2, 0, now_ns, &delay_ms) == NGINX_PASSED;
	}
	rl_close(rl);
	return 0;
}

static void
test_workers(void **state)
{
	int *passed = test_shared(WORKERS * sizeof *passed);

	(void)state;
	test_segment_name(); /* the children's, too */
	test_fork(WORKERS, work, passed);
	assert_int_equal(passed[0] + passed[1] + passed[2] + passed[3], 21 + 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_between_milliseconds),
		cmocka_unit_test(test_per_minute),
		cmocka_unit_test(test_an_empty_key),
		cmocka_unit_test(test_errors),
		cmocka_unit_test_teardown(test_workers, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
