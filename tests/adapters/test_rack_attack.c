/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Rack::Attack asks of its store: throttles and bans beside arrays, times frozen and moving.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adapters/rack_attack.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define CLIENTS 5
#define NAME_SIZE (2 * RL_KEY_MAX)

static struct rack_attack
store_in(struct rl *rl)
{
	struct rack_attack s;

	assert_int_equal(rack_attack_open(&s, rl), 0);
	return s;
}

/* Timecop: most calls come at one time. */
static uint64_t
a_step(uint64_t *seed)
{
	return test_below(seed, 4) > 0 ? 0 : test_below(seed, 20 * RL_SECOND);
}

/*
 * What Rack::Attack does with a store. It counts under the number of the period, until its end and
 * a second more.
 */
static int64_t
library_count(const struct rack_attack *s, const char *what, uint64_t period, uint64_t now_ns)
{
	uint64_t now = now_ns / RL_SECOND;
	char name[NAME_SIZE];

	snprintf(name, sizeof name, "rack::attack:%d:%s", (int)(now / period), what);
	return rack_attack_increment(s, name, 1, period - now % period + 1, now_ns);
}

struct ban_options {
	const char *prefix;
	uint64_t maxretry, findtime, bantime;
	bool allows; /* allow2ban: the request that fills the count passes */
};

static bool
library_is_banned(const struct rack_attack *s, const struct ban_options *o, int client,
                  uint64_t now_ns)
{
	char name[64];
	uint64_t value;

	snprintf(name, sizeof name, "rack::attack:%s:ban:%d", o->prefix, client);
	return rack_attack_read(s, name, now_ns, &value) == 1;
}

/* Is the request refused? */
static bool
library_filter(const struct rack_attack *s, const struct ban_options *o, int client, bool fails,
               uint64_t now_ns)
{
	char name[64];

	if (library_is_banned(s, o, client, now_ns))
		return true;
	if (!fails)
		return false;
	snprintf(name, sizeof name, "%s:count:%d", o->prefix, client);
	if ((uint64_t)library_count(s, name, o->findtime, now_ns) >= o->maxretry) {
		snprintf(name, sizeof name, "rack::attack:%s:ban:%d", o->prefix, client);
		assert_int_equal(rack_attack_write(s, name, 1, o->bantime, now_ns), 1);
	}
	return !o->allows;
}

static void
library_reset(const struct rack_attack *s, const struct ban_options *o, int client, uint64_t now_ns)
{
	uint64_t period = now_ns / RL_SECOND / o->findtime;
	char name[64];

	snprintf(name, sizeof name, "rack::attack:%d:%s:count:%d", (int)period, o->prefix, client);
	rack_attack_delete(s, name, now_ns);
	snprintf(name, sizeof name, "rack::attack:%s:ban:%d", o->prefix, client);
	rack_attack_delete(s, name, now_ns);
}

/* By definition. */
struct naive_client {
	uint64_t hits, period; /* of a throttle */
	uint64_t failures, found;
	uint64_t banned_until_ns;
};

static uint64_t
naive_count(uint64_t *count, uint64_t *period, uint64_t length, uint64_t now_ns)
{
	uint64_t number = now_ns / RL_SECOND / length;

	*count = *period == number ? *count + 1 : 1;
	*period = number;
	return *count;
}

static bool
naive_filter(struct naive_client *n, const struct ban_options *o, bool fails, uint64_t now_ns)
{
	if (now_ns < n->banned_until_ns)
		return true;
	if (!fails)
		return false;
	if (naive_count(&n->failures, &n->found, o->findtime, now_ns) >= o->maxretry)
		n->banned_until_ns =
			(now_ns + RL_MILLISECOND - 1) / RL_MILLISECOND * RL_MILLISECOND +
			o->bantime * RL_SECOND;
	return !o->allows;
}

static void
test_throttle(void **state)
{
	struct naive_client naive[CLIENTS] = {0};
	struct rl *rl = test_private(1000);
	struct rack_attack s = store_in(rl);
	uint64_t seed = 1, now_ns = T0;
	char name[32];

	(void)state;
	for (uint64_t i = 0; i < test_scaled(100000); i++) {
		int client = (int)test_below(&seed, CLIENTS);
		struct naive_client *n = &naive[client];
		now_ns += a_step(&seed);
		snprintf(name, sizeof name, "req/ip:203.0.113.%d", client);
		assert_int_equal(library_count(&s, name, 60, now_ns),
		                 naive_count(&n->hits, &n->period, 60, now_ns));
	}
	rl_close(rl);
}

static void
play_bans(bool allows)
{
	const struct ban_options o = {allows ? "allow2ban" : "fail2ban", 3, 30, 100, allows};
	struct naive_client naive[CLIENTS] = {0};
	struct rl *rl = test_private(1000);
	struct rack_attack s = store_in(rl);
	uint64_t seed = 2, now_ns = T0;

	for (uint64_t i = 0; i < test_scaled(100000); i++) {
		int client = (int)test_below(&seed, CLIENTS);
		bool fails = test_below(&seed, 2) > 0;
		now_ns += a_step(&seed);
		if (test_below(&seed, 50) == 0) {
			library_reset(&s, &o, client, now_ns);
			naive[client] = (struct naive_client){0};
		}
		assert_int_equal(library_filter(&s, &o, client, fails, now_ns),
		                 naive_filter(&naive[client], &o, fails, now_ns));
	}
	rl_close(rl);
}

static void
test_fail2ban(void **state)
{
	(void)state;
	play_bans(false);
}

static void
test_allow2ban(void **state)
{
	(void)state;
	play_bans(true);
}

static void
test_numbers(void **state)
{
	struct rl *rl = test_private(100);
	struct rack_attack s = store_in(rl);
	uint64_t value;

	(void)state;
	assert_int_equal(rack_attack_read(&s, "k", T0, &value), 0);
	assert_int_equal(rack_attack_write(&s, "k", 7, 10, T0), 1);
	assert_int_equal(rack_attack_write_new(&s, "k", 9, 10, T0), 0);
	assert_int_equal(rack_attack_increment(&s, "k", 2, 99, T0 + RL_SECOND), 9);
	assert_int_equal(rack_attack_read(&s, "k", T0 + 10 * RL_SECOND - 1, &value), 1);
	assert_int_equal(value, 9);
	assert_int_equal(rack_attack_read(&s, "k", T0 + 10 * RL_SECOND, &value), 0);
	assert_int_equal(rack_attack_write_new(&s, "k", 9, 0, T0 + 10 * RL_SECOND), 1);
	assert_int_equal(rack_attack_read(&s, "k", 2 * T0, &value), 1); /* never expires */
	assert_int_equal(rack_attack_delete(&s, "k", T0), 1);
	assert_int_equal(rack_attack_delete(&s, "k", T0), 0);
	rl_close(rl);
}

/* A name of any length: long ones differ at their ends, and are matched by their beginnings. */
static void
a_name(char name[NAME_SIZE], const char *prefix, size_t len, int number)
{
	memset(name, 'x', len);
	memcpy(name, prefix, strlen(prefix));
	sprintf(name + len, ":%d", number);
}

static void
test_delete_matched(void **state)
{
	static const size_t lengths[] = {20, 60, RL_KEY_MAX - 2, RL_KEY_MAX, RL_KEY_MAX + 900};
	struct rl *rl = test_private(100);
	struct rack_attack s = store_in(rl);
	char name[NAME_SIZE];
	struct rl_info info;
	uint64_t value;

	(void)state;
	for (int i = 0; i < 10; i++) {
		a_name(name, i < 5 ? "rack::attack:" : "other:", lengths[i % 5], i);
		assert_int_equal(rack_attack_increment(&s, name, 1, 60, T0), 1);
		a_name(name, i < 5 ? "rack::attack:" : "other:", lengths[i % 5], i + 10);
		assert_int_equal(rack_attack_increment(&s, name, 1, 60, T0), 1);
	}
	rl_info(rl, &info);
	assert_int_equal(info.rules_used, 1);
	assert_int_equal(rack_attack_delete_matched(&s, "rack::attack"), 10); /* one place each */
	for (int i = 0; i < 10; i++) {
		a_name(name, i < 5 ? "rack::attack:" : "other:", lengths[i % 5], i);
		assert_int_equal(rack_attack_read(&s, name, T0, &value), i >= 5);
	}
	rl_close(rl);
}

static void
test_a_prefix_that_is_not_kept(void **state)
{
	struct rl_options o = {.keys = 20, .key_bytes = 8};
	struct rack_attack s;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	s = store_in(rl);
	rack_attack_increment(&s, "rack::attack:1", 1, 60, T0);
	assert_int_equal(rack_attack_delete_matched(&s, "rack::attack"), -ENAMETOOLONG);
	assert_int_equal(rack_attack_delete_matched(&s, "rack::"), 1);
	rl_close(rl);
}

struct work {
	int within[4];
	int bans[4];
};

/* A throttle of 20, and a ban whose first writer says how long. */
static int
work(void *arg, int i)
{
	struct work *done = arg;
	struct rack_attack s;
	struct rl *rl;

	if (rl_open(test_segment_name(), NULL, &rl) < 0 || rack_attack_open(&s, rl) < 0)
		return 1;
	for (int n = 0; n < 1000; n++) {
		done->within[i] += library_count(&s, "req/ip:203.0.113.9", 60, T0) <= 20;
		done->bans[i] += rack_attack_write_new(&s, "ban", 1, 60, T0);
	}
	rl_close(rl);
	return 0;
}

static void
test_workers(void **state)
{
	struct work *done = test_shared(sizeof *done);

	(void)state;
	test_segment_name(); /* the children's, too */
	test_fork(4, work, done);
	assert_int_equal(done->within[0] + done->within[1] + done->within[2] + done->within[3], 20);
	assert_int_equal(done->bans[0] + done->bans[1] + done->bans[2] + done->bans[3], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_fail2ban),
		cmocka_unit_test(test_allow2ban),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_delete_matched),
		cmocka_unit_test(test_a_prefix_that_is_not_kept),
		cmocka_unit_test_teardown(test_workers, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
