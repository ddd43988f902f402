/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "shared/hash.h"
#include "testing.h"

static const struct rl_hash_key counting = {
	.k0 = UINT64_C(0x0706050403020100),
	.k1 = UINT64_C(0x0f0e0d0c0b0a0908),
};

static struct rl_hash
hash_of(const void *data, size_t len, int c, int d)
{
	return rl_sip_finish(rl_sip_start(counting), data, len, 0, c, d);
}

static void
expect(struct rl_hash hash, const char *hex)
{
	char text[33];
	unsigned char bytes[16];

	memcpy(bytes, &hash.a, 8);
	memcpy(bytes + 8, &hash.b, 8);
	for (int i = 0; i < 16; i++)
		snprintf(text + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
	assert_string_equal(text, hex);
}

/* The vectors of the reference: SipHash-2-4-128, key 00..0f, message 00 01 02 ... */
static void
test_reference_vectors(void **state)
{
	unsigned char message[64];

	(void)state;
	for (unsigned char i = 0; i < sizeof message; i++)
		message[i] = i;
	expect(hash_of(message, 0, 2, 4), "a3817f04ba25a8e66df67214c7550293");
	expect(hash_of(message, 1, 2, 4), "da87c1d86b99af44347659119b22fc45");
	expect(hash_of(message, 2, 2, 4), "8177228da4a45dc7fca38bdef60affe4");
}

/* SipHash-1-3-64 under a key of zeros, message 00 01 02 ...: what CPython 3.11 hashes bytes by. */
static void
test_vectors_of_64_bits(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{1, UINT64_C(0x68a914128e01e473)},  {7, UINT64_C(0x2f098ab0c751325a)},
		{8, UINT64_C(0xead411e67ebe2eea)},  {15, UINT64_C(0xf30eb725bb91c9ea)},
		{16, UINT64_C(0x8972188433a5c5b7)}, {33, UINT64_C(0x7fb71d24dfa4c9f6)},
	};
	struct rl_sip start = rl_sip_start64((struct rl_hash_key){0});
	unsigned char message[64];

	(void)state;
	for (unsigned char i = 0; i < sizeof message; i++)
		message[i] = i;
	for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
		assert_true(rl_hash_of_key(start, message, vectors[i].len) == vectors[i].hash);
}

/*
 * The second word of a key depends on all of it, and on the secret, and not on the first word
 * alone.
 */
static void
test_both_words_of_a_key(void **state)
{
	struct rl_sip start = rl_sip_start64(counting);
	unsigned char key[24] = {0};
	struct rl_hash base = rl_hash_both(rl_sip_of_key(start, key, sizeof key));

	(void)state;
	assert_true(base.a == rl_hash_of_key(start, key, sizeof key));
	for (size_t bit = 0; bit < sizeof key * 8; bit++) {
		key[bit / 8] = (unsigned char)(1u << bit % 8);
		struct rl_hash h = rl_hash_both(rl_sip_of_key(start, key, sizeof key));
		assert_in_range(__builtin_popcountll(h.b ^ base.b), 10, 54);
		assert_in_range(__builtin_popcountll(h.b ^ base.b ^ h.a ^ base.a), 10, 54);
		key[bit / 8] = 0;
	}
}

static void
test_prefix_is_part_of_the_message(void **state)
{
	unsigned char message[16];
	uint64_t prefix = UINT64_C(0x1122334455667788);
	struct rl_hash whole, split;

	(void)state;
	memcpy(message, &prefix, 8);
	memcpy(message + 8, "12345678", 8);
	whole = hash_of(message, sizeof message, 1, 3);
	split = rl_hash_with(counting, prefix, "12345678", 8);
	assert_true(whole.a == split.a && whole.b == split.b);
}

/* Each bit of key, rule and secret matters to about half of the bits of the result. */
static void
test_every_input_bit_matters(void **state)
{
	unsigned char key[24] = {0};
	struct rl_hash base = rl_hash_with(counting, 7, key, sizeof key);

	(void)state;
	for (size_t bit = 0; bit < sizeof key * 8; bit++) {
		key[bit / 8] = (unsigned char)(1u << bit % 8);
		struct rl_hash h = rl_hash_with(counting, 7, key, sizeof key);
		int changed =
			__builtin_popcountll(h.a ^ base.a) + __builtin_popcountll(h.b ^ base.b);
		assert_in_range(changed, 32, 96);
		key[bit / 8] = 0;
	}
	assert_true(rl_hash_with(counting, 8, key, sizeof key).a != base.a);
	assert_true(rl_hash_with(counting, 7, key, sizeof key - 1).a != base.a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_vectors),
		cmocka_unit_test(test_vectors_of_64_bits),
		cmocka_unit_test(test_both_words_of_a_key),
		cmocka_unit_test(test_prefix_is_part_of_the_message),
		cmocka_unit_test(test_every_input_bit_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
