/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An order for all hosts: what is written is read, what is cut or longer is refused; what is sealed
 * only its secret opens.
 */

#include <stdio.h>
#include <string.h>

#include "../../rld/cluster/order.h"
#include "../../rld/cluster/seal.h"
#include "testing.h"

static struct order
an_override(void)
{
	struct order o = {.verb = ORDER_OVERRIDE,
	                  .match = RL_MATCH_KEY,
	                  .rule = "api",
	                  .reason = "ticket",
	                  .reason_len = 6,
	                  .key_len = 5,
	                  .until_ns = 1795402713709643686u,
	                  .author = 7,
	                  .capacity = RL_CAPACITY_MAX,
	                  .limit = 3};

	memcpy(o.key, "alice", 5);
	return o;
}

static struct order
an_order(void)
{
	struct order o = {.verb = ORDER_BAN,
	                  .match = RL_MATCH_NETWORK,
	                  .rule = "api",
	                  .reason = "too many",
	                  .reason_len = 8,
	                  .key_len = 12,
	                  .until_ns = 1795402713709643686u,
	                  .author = 4000000000u};

	memcpy(o.key, "192.0.2.0/24", 12);
	return o;
}

static void
test_written_is_read(void **state)
{
	struct order o = an_order(), read;
	unsigned char bytes[ORDER_MAX];
	size_t size = order_write(&o, bytes);

	(void)state;
	assert_true(order_read(bytes, size, &read));
	assert_memory_equal(&read, &o, sizeof o);
	memset(o.rule, 'r', RL_NAME_MAX);
	memset(o.reason, 'w', o.reason_len = RL_REASON_MAX);
	memset(o.key, 'k', o.key_len = RL_KEY_MAX);
	size = order_write(&o, bytes);
	assert_true(size < ORDER_MAX);
	assert_true(order_read(bytes, size, &read));
	assert_memory_equal(&read, &o, sizeof o);
	o.verb = ORDER_OVERRIDE;
	o.match = RL_MATCH_KEY;
	o.limit = 7;
	o.capacity = 1;
	size = order_write(&o, bytes);
	assert_int_equal(size, ORDER_MAX);
	assert_true(order_read(bytes, size, &read));
	assert_memory_equal(&read, &o, sizeof o);
	o = an_override();
	size = order_write(&o, bytes);
	assert_true(order_read(bytes, size, &read));
	assert_memory_equal(&read, &o, sizeof o);
	o = (struct order){.verb = ORDER_RESET, .match = RL_MATCH_PREFIX, .rule = "api"}; /* all */
	size = order_write(&o, bytes);
	assert_true(order_read(bytes, size, &read));
	assert_memory_equal(&read, &o, sizeof o);
}

static void
test_what_is_none(void **state)
{
	struct order o = an_order(), read;
	unsigned char bytes[ORDER_MAX + 1] = {0};
	size_t size = order_write(&o, bytes);

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		assert_false(order_read(bytes, cut, &read));
	assert_false(order_read(bytes, size + 1, &read));
	bytes[0] = ORDER_VERBS;
	assert_false(order_read(bytes, size, &read));
	o.key_len = 0;
	for (int verb = 0; verb < ORDER_VERBS; verb++)
		for (int match = 0; match <= RL_MATCH_NETWORK; match++) {
			o.verb = (enum order_verb)verb;
			o.match = (enum rl_match)match;
			size = order_write(&o, bytes);
			assert_int_equal(order_read(bytes, size, &read),
			                 verb == ORDER_RESET && match == RL_MATCH_PREFIX);
		}
	o.verb = ORDER_RESET;
	o.match = (enum rl_match)(RL_MATCH_NETWORK + 1);
	assert_false(order_read(bytes, order_write(&o, bytes), &read));
	o = an_order();
	o.key_len = 0;
	assert_false(order_read(bytes, order_write(&o, bytes), &read));
	o = an_order();
	size = order_write(&o, bytes);
	bytes[19] = '\0'; /* in the rule's name */
	assert_false(order_read(bytes, size, &read));
	bytes[2] = RL_NAME_MAX + 1;
	assert_false(order_read(bytes, size, &read));
}

/* A limit of one key is of a rule, and has its end. */
static void
test_overrides_that_are_none(void **state)
{
	struct order o = an_override(), read;
	unsigned char bytes[ORDER_MAX + 1] = {0};
	size_t size = order_write(&o, bytes);

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		assert_false(order_read(bytes, cut, &read));
	assert_false(order_read(bytes, size + 1, &read));
	bytes[0] = ORDER_BAN;
	assert_false(order_read(bytes, size, &read));
	o.match = RL_MATCH_PREFIX;
	assert_false(order_read(bytes, order_write(&o, bytes), &read));
	o = an_override();
	o.rule[0] = '\0';
	assert_false(order_read(bytes, order_write(&o, bytes), &read));
	o = an_override();
	o.key_len = 0;
	assert_false(order_read(bytes, order_write(&o, bytes), &read));
}

/* What lifts it takes its place; that of another limit, and a ban, do not. */
static void
test_subjects_of_overrides(void **state)
{
	struct order a = an_override(), b = an_override();
	unsigned char of_a[ORDER_MAX], of_b[ORDER_MAX];
	size_t size = order_subject(&a, of_a);

	(void)state;
	b.capacity = 0;
	b.until_ns = 0;
	b.reason_len = 0;
	assert_int_equal(order_subject(&b, of_b), size);
	assert_memory_equal(of_a, of_b, size);
	b.limit = 2;
	order_subject(&b, of_b);
	assert_memory_not_equal(of_a, of_b, size);
	b = a;
	b.verb = ORDER_BAN;
	assert_true(order_subject(&b, of_b) < size);
	assert_int_not_equal(of_a[0], of_b[0]);
}

/* What lifts a ban takes its place; what is of another rule, key or kind does not. */
static void
test_subjects(void **state)
{
	struct order a = an_order(), b = an_order();
	unsigned char of_a[ORDER_MAX], of_b[ORDER_MAX];
	size_t size = order_subject(&a, of_a);

	(void)state;
	b.verb = ORDER_UNBAN;
	b.until_ns = 0;
	b.author = 1;
	b.reason_len = 0;
	assert_int_equal(order_subject(&b, of_b), size);
	assert_memory_equal(of_a, of_b, size);
	b.verb = ORDER_RESET;
	assert_int_equal(order_subject(&b, of_b), size);
	assert_memory_not_equal(of_a, of_b, size);
	b = a;
	b.key[0] = '2';
	order_subject(&b, of_b);
	assert_memory_not_equal(of_a, of_b, size);
	b = a;
	b.rule[0] = 'b';
	order_subject(&b, of_b);
	assert_memory_not_equal(of_a, of_b, size);
}

static void
test_seal(void **state)
{
	const struct secret mine = {.seal = {1, 2, 3}}, other = {.seal = {1, 2, 4}};
	const unsigned char bytes[] = "what is to be done";
	unsigned char sealed[sizeof bytes + SEAL_MORE], twice[sizeof sealed], opened[sizeof bytes];
	char name[SEAL_NAME], of_other[SEAL_NAME];

	(void)state;
	assert_true(seal_name(&mine, bytes, sizeof bytes, name));
	assert_true(seal_name(&other, bytes, sizeof bytes, of_other));
	assert_string_not_equal(name, of_other);
	assert_true(seal_close(&mine, name, bytes, sizeof bytes, sealed));
	assert_true(seal_close(&mine, name, bytes, sizeof bytes, twice));
	assert_memory_not_equal(sealed, twice, sizeof sealed);
	assert_true(seal_open(&mine, name, sealed, sizeof sealed, opened));
	assert_memory_equal(opened, bytes, sizeof bytes);
	assert_false(seal_open(&other, name, sealed, sizeof sealed, opened));
	assert_false(seal_open(&mine, of_other, sealed, sizeof sealed, opened));
	for (size_t i = 0; i < sizeof sealed; i++) {
		sealed[i] ^= 1;
		assert_false(seal_open(&mine, name, sealed, sizeof sealed, opened));
		sealed[i] ^= 1;
		assert_false(seal_open(&mine, name, sealed, i, opened));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_is_read),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_subjects),
		cmocka_unit_test(test_overrides_that_are_none),
		cmocka_unit_test(test_subjects_of_overrides),
		cmocka_unit_test(test_seal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
