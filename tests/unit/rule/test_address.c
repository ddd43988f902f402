/* SPDX-License-Identifier: BSD-2-Clause */
/* An address is what inet_pton() says it is, and its networks have the hash of their keys. */
#include "rule/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

#define TEXTS 300000

static void
expect_same(const char *text)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	unsigned char bytes[16] = {0};
	struct rl_address a;
	unsigned bits = inet_pton(AF_INET, text, bytes) == 1    ? 32
	                : inet_pton(AF_INET6, text, bytes) == 1 ? 128
	                                                        : 0;

	if (bits == 128 && memcmp(bytes, mapped, sizeof mapped) == 0) {
		memmove(bytes, bytes + 12, 4);
		memset(bytes + 4, 0, 12);
		bits = 32;
	}
	if (rl_address_parse(text, strlen(text), &a) != (bits > 0))
		fail_msg("'%s' is %san address", text, bits > 0 ? "" : "not ");
	if (bits == 0)
		return;
	if (a.bits != bits || memcmp(a.bytes, bytes, sizeof bytes) != 0)
		fail_msg("'%s' is another address", text);
}

static void
test_chosen(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		"::",
		":::",
		"1::",
		"::1",
		":1",
		"1:",
		"1:2:3:4:5:6:7:8",
		"1:2:3:4:5:6:7::",
		"::2:3:4:5:6:7:8",
		"1:2:3:4::5:6:7:8",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"1::2::3",
		"12345::",
		"1::g",
		"ABCD:ef::",
		"::1.2.3.4",
		"::ffff:1.2.3.4",
		"::1.2.3.256",
		"1:2:3:4:5:6:1.2.3.4",
		"1:2:3:4:5:6:7:1.2.3.4",
		"1.2.3.4::",
		"::1.2.3.4:5",
		"1:2:3:4:5:6::1.2.3.4",
		"1.2.3.4",
		"1.2.3",
		"1.2.3.4.",
		"1.2.3.4.5",
		"01.2.3.4",
		"1.2.3.04",
		"0.0.0.0",
		"255.255.255.255",
		"1..2.3",
		".1.2.3",
		"1.2.3.4 ",
		"1.2.3.999",
		"-1.2.3.4",
		"0.0.0.00",
		"1.2.3.0000",
		"0x1.2.3.4",
		"127.1",
		"2130706433",
		"1.2.3.+4",
		" 1.2.3.4",
		"1.2.3.4\n",
		"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		expect_same(texts[i]);
}

/* Addresses with some characters replaced, left out or put in. */
static void
mutate(uint64_t *seed, char text[static 64])
{
	static const char characters[] = "0123456789abfF:.:.::";

	for (uint64_t n = test_below(seed, 4); n > 0 && strlen(text) > 0; n--) {
		size_t len = strlen(text), at = test_below(seed, len);

		switch (test_below(seed, 3)) {
		case 0:
			text[at] = characters[test_below(seed, sizeof characters - 1)];
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at);
			break;
		default:
			if (len > 60)
				break;
			memmove(text + at + 1, text + at, len - at + 1);
			text[at] = characters[test_below(seed, sizeof characters - 1)];
		}
	}
}

static void
test_any(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int n = 0; n < TEXTS; n++) {
		unsigned char bytes[16];
		char text[64];

		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = test_below(&seed, 2) ? 0 : (unsigned char)test_below(&seed, 256);
		inet_ntop(n % 3 == 0 ? AF_INET : AF_INET6, bytes, text, sizeof text);
		mutate(&seed, text);
		expect_same(text);
	}
}

static void
test_nul_is_no_digit(void **state)
{
	struct rl_address a;

	(void)state;
	assert_true(rl_address_parse("1.2.3.4", 7, &a));
	assert_false(rl_address_parse("1.2.3.4\0", 8, &a));
	assert_false(rl_address_parse("::1\0", 4, &a));
}

static void
test_hashes(void **state)
{
	static const char *const texts[] = {"203.0.113.77",
	                                    "2001:db8:1234:5678:9abc:def0:f1e2:d3c4"};
	const struct rl_sip start = rl_sip_start64((struct rl_hash_key){7, 9});

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rl_address a;

		assert_true(rl_address_parse(texts[i], strlen(texts[i]), &a));
		for (unsigned prefix = 0; prefix <= a.bits; prefix++) {
			unsigned char key[RL_NETWORK_KEY_MAX];
			size_t len = rl_network_key(&a, prefix, key);

			assert_true(rl_network_hash(start, &a, prefix) ==
			            rl_hash_of_key(start, key, len));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_nul_is_no_digit),
		cmocka_unit_test(test_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
