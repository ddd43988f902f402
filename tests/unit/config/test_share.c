/* SPDX-License-Identifier: BSD-2-Clause */
/* Who takes the table: the shares of rules and of networks, by a sample. */

#include <share/share.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

#define HOUR (3600 * RL_SECOND)

static void
ask(struct rl *rl, int rule, const char *key)
{
	assert_int_equal(rl_check(rl, rule, key, strlen(key), 1, NULL), RL_ALLOWED);
}

/* `format` has one %u, which is i. */
static void
ask_many(struct rl *rl, int rule, const char *format, unsigned count)
{
	char key[64];

	for (unsigned i = 0; i < count; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(key, sizeof key, format, i);
#pragma GCC diagnostic pop
		ask(rl, rule, key);
	}
}

static struct shares
take(struct rl *rl)
{
	struct shares shares;

	assert_int_equal(shares_take(rl, rl_now(rl), &shares), 0);
	return shares;
}

static void
test_nothing_has_a_share_of_nothing(void **state)
{
	struct rl *rl = test_private(600);
	struct shares s = take(rl);

	(void)state;
	assert_int_equal(s.used, 0);
	assert_null(shares_network(&s, s.used, 0));
	assert_null(shares_rule(&s, 0));
	assert_int_equal(share_percent(0, 0), 0);
	shares_free(&s);
	rl_close(rl);
}

static void
test_shares_of_rules(void **state)
{
	struct rl *rl = test_private(600);
	int one = test_rule(rl, "one", 5, HOUR, 1, false);
	int other = test_rule(rl, "other", 5, HOUR, 1, false);
	struct shares s;

	(void)state;
	ask_many(rl, one, "user:%u", 30);
	ask_many(rl, other, "user:%u", 70);
	s = take(rl);
	assert_int_equal(s.used, 100);
	assert_int_equal(s.addresses, 0);
	assert_int_equal(s.rule_count, 2);
	assert_int_equal(shares_rule(&s, 50)->rule, other);
	assert_int_equal(shares_rule(&s, 50)->slots, 70);
	assert_int_equal(shares_rule(&s, 69)->rule, other);
	assert_null(shares_rule(&s, 70));
	shares_free(&s);
	rl_close(rl);
}

/* Of the narrow network and the wide one around it, the narrow one, if it has enough. */
static void
test_shares_of_networks(void **state)
{
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, HOUR, 1, false);
	struct shares s;

	(void)state;
	ask_many(rl, rule, "user:%u", 20);
	ask_many(rl, rule, "203.0.113.%u", 50);
	ask_many(rl, rule, "203.0.%u.1", 10);
	ask_many(rl, rule, "2001:db8:7::%u", 15);
	ask_many(rl, rule, "2001:db8:%u::1", 5);
	s = take(rl);
	assert_int_equal(s.used, 100);
	assert_int_equal(s.addresses, 80);
	assert_string_equal(s.networks[SHARE_V4_24].text, "203.0.113.0/24");
	assert_int_equal(s.networks[SHARE_V4_24].keys, 50);
	assert_string_equal(s.networks[SHARE_V4_16].text, "203.0.0.0/16");
	assert_int_equal(s.networks[SHARE_V4_16].keys, 60);
	assert_string_equal(s.networks[SHARE_V6_48].text, "2001:db8:7::/48");
	assert_int_equal(s.networks[SHARE_V6_48].keys, 15);
	assert_string_equal(s.networks[SHARE_V6_32].text, "2001:db8::/32");
	assert_int_equal(s.networks[SHARE_V6_32].keys, 20);
	assert_int_equal(shares_network(&s, s.used, 49)->bits, 24);
	assert_int_equal(shares_network(&s, s.used, 50)->bits, 16);
	assert_null(shares_network(&s, s.used, 60));
	assert_int_equal(shares_network(&s, s.addresses, 62)->bits, 24); /* 62.5 */
	shares_free(&s);
	rl_close(rl);
}

/* Keys of a rule with prefixes are networks: one is no wider than it is. */
static void
test_keys_that_are_networks(void **state)
{
	const struct rl_limit limit = {
		.capacity = 5, .window_ns = HOUR, .prefix_v4 = 20, .prefix_v6 = 64};
	struct rl *rl = test_private(600);
	int rule = rl_define(rl, &(struct rl_rule){.name = "net", .limit = limit});
	struct shares s;

	(void)state;
	assert_true(rule >= 0);
	ask_many(rl, rule, "2001:db8:7:%u::1", 20);
	ask(rl, rule, "10.0.15.1");
	ask(rl, rule, "10.0.16.1");
	ask(rl, rule, "10.0.17.1"); /* of the same 20 bits */
	s = take(rl);
	assert_int_equal(s.used, 22);
	assert_int_equal(s.addresses, 22);
	assert_int_equal(s.networks[SHARE_V4_24].keys, 0);
	assert_string_equal(s.networks[SHARE_V4_16].text, "10.0.0.0/16");
	assert_int_equal(s.networks[SHARE_V4_16].keys, 2);
	assert_int_equal(s.networks[SHARE_V6_48].keys, 20);
	shares_free(&s);
	rl_close(rl);
}

/* What looks like an address and is none; what would steer a terminal; what is not kept in full. */
static void
test_other_keys_are_no_addresses(void **state)
{
	static const char *const keys[] = {
		"192.0.2",     "192.0.2.1/33", "192.0.2.1/",     "192.0.2.1/24x", "192.0.2.1 ",
		"::1/129",     "\x1b[31m\n",   "192.0.2.1/24/1", ":::",           "fe80::1%eth0",
		"192.0.2.300", "/24",          "user:192.0.2.1", "%s%n"};
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, HOUR, 1, false);
	char nul[] = "192.0.2.1\0x", text[200];
	struct shares s;

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		ask(rl, rule, keys[i]);
	assert_int_equal(rl_check(rl, rule, nul, sizeof nul - 1, 1, NULL), RL_ALLOWED);
	memset(text, '1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ask(rl, rule, text);
	s = take(rl);
	assert_int_equal(s.used, sizeof keys / sizeof keys[0] + 2);
	assert_int_equal(s.addresses, 0);
	assert_null(shares_network(&s, s.used, 0));
	shares_free(&s);
	rl_close(rl);
}

static void
test_ipv4_written_as_ipv6_is_ipv4(void **state)
{
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, HOUR, 1, false);
	struct shares s;

	(void)state;
	ask_many(rl, rule, "::ffff:203.0.113.%u", 3);
	s = take(rl);
	assert_string_equal(s.networks[SHARE_V4_24].text, "203.0.113.0/24");
	assert_int_equal(s.networks[SHARE_V4_24].keys, 3);
	assert_int_equal(s.networks[SHARE_V6_32].keys, 0);
	shares_free(&s);
	rl_close(rl);
}

/* Of a large table a part stands for the whole. */
static void
test_a_large_table_is_sampled(void **state)
{
	struct rl *rl = test_private(100000);
	int one = test_rule(rl, "one", 5, HOUR, 1, false);
	int other = test_rule(rl, "other", 5, HOUR, 1, false);
	struct shares s;

	(void)state;
	for (unsigned i = 0; i < 30000; i++) {
		char key[32];

		snprintf(key, sizeof key, "10.%u.%u.%u", i >> 16, i >> 8 & 255, i & 255);
		ask(rl, i % 4 == 0 ? one : other, key);
	}
	s = take(rl);
	assert_true(s.used > 1000 && s.used <= SHARE_SLOTS);
	assert_int_equal(shares_rule(&s, 60)->rule, other);
	assert_true(share_percent(shares_rule(&s, 60)->slots, s.used) < 85);
	assert_string_equal(shares_network(&s, s.used, 90)->text, "10.0.0.0/16");
	shares_free(&s);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_has_a_share_of_nothing),
		cmocka_unit_test(test_shares_of_rules),
		cmocka_unit_test(test_shares_of_networks),
		cmocka_unit_test(test_keys_that_are_networks),
		cmocka_unit_test(test_other_keys_are_no_addresses),
		cmocka_unit_test(test_ipv4_written_as_ipv6_is_ipv4),
		cmocka_unit_test(test_a_large_table_is_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
