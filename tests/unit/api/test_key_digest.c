/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SHA-256 by the examples of NIST, and by what another program (Python's hashlib) says of every
 * length around the blocks; and the text that stands for a long key, likewise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/sha256.h"
#include "testing.h"

#define LENGTHS 301 /* 0 .. 300: four blocks, and all that may be left */

static void
hex_of(const void *bytes, size_t len, char hex[static 2 * RL_SHA256_BYTES + 1])
{
	unsigned char digest[RL_SHA256_BYTES];

	rl_sha256(bytes, len, digest);
	for (int i = 0; i < RL_SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* A key that other programs can make, too. */
static unsigned char *
make_key(size_t len)
{
	unsigned char *key = malloc(len + 1); /* of no bytes, too */

	assert_non_null(key);
	for (size_t i = 0; i < len; i++)
		key[i] = (unsigned char)(i * 7);
	return key;
}

static void
test_nist(void **state)
{
	static const struct {
		const char *message, *digest;
	} examples[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
	         "klmnopqrlmnopqrsmnopqrstnopqrstu",
	         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[2 * RL_SHA256_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
		hex_of(examples[i].message, strlen(examples[i].message), hex);
		assert_string_equal(hex, examples[i].digest);
	}
	hex_of(NULL, 0, hex);
	assert_string_equal(hex, examples[0].digest);
}

static void
test_a_million(void **state)
{
	static char message[1000000];
	char hex[2 * RL_SHA256_BYTES + 1];

	(void)state;
	memset(message, 'a', sizeof message);
	hex_of(message, sizeof message, hex);
	assert_string_equal(hex,
	                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The digest of all the digests. */
static void
test_every_length(void **state)
{
	static unsigned char digests[LENGTHS][RL_SHA256_BYTES];
	char hex[2 * RL_SHA256_BYTES + 1];

	(void)state;
	for (size_t len = 0; len < LENGTHS; len++) {
		unsigned char *key = make_key(len); /* no byte more: a sanitizer sees to it */
		rl_sha256(key, len, digests[len]);
		free(key);
	}
	hex_of(digests, sizeof digests, hex);
	assert_string_equal(hex,
	                    "3b05b530351f50663ba5ac734c246d169eafec6b57c70dc6dc94cad39d04aad8");
}

static void
assert_text(const void *key, size_t len, const char *expected)
{
	char text[RL_KEY_DIGEST_SIZE + 1];

	text[RL_KEY_DIGEST_SIZE] = '!';
	assert_int_equal(rl_key_digest(key, len, text), RL_KEY_DIGEST_SIZE - 1);
	assert_string_equal(text, expected);
	assert_int_equal(text[RL_KEY_DIGEST_SIZE], '!');
}

/* The first is of RFC 7636, appendix B. */
static void
test_text(void **state)
{
	static const struct {
		size_t len;
		const char *text;
	} made[] = {
		{0, "S256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"},
		{1, "S256:bjQLnP-zepicpUTmu3gKLHiQHT-zNzh2hRGjBhevoB0"},
		{RL_KEY_MAX, "S256:0BD2120OtNzl1bWzQBSooVfsQ4CmbCTX1FWpv2UtsUo"},
		{RL_KEY_MAX + 1, "S256:s8UsfjcApRv_41tdz9BYhKvvcR74ANjoNJVuGh_8dgg"},
		{10000, "S256:GWD8g9_lXVAsLBcpXCqs2yy5G0v130SopH6v2mXGBLg"},
	};

	(void)state;
	assert_text("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", 43,
	            "S256:E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
		unsigned char *key = make_key(made[i].len);
		assert_text(key, made[i].len, made[i].text);
		free(key);
	}
}

/* The digest of all the texts. */
static void
test_every_digit(void **state)
{
	static char all[LENGTHS * (RL_KEY_DIGEST_SIZE - 1) + 1];
	char hex[2 * RL_SHA256_BYTES + 1], *at = all;

	(void)state;
	for (size_t len = 0; len < LENGTHS; len++) {
		unsigned char *key = make_key(len);
		at += rl_key_digest(key, len, at);
		free(key);
	}
	hex_of(all, (size_t)(at - all), hex);
	assert_string_equal(hex,
	                    "c9e906c397b3ac2ec9ec650b86a7be8c5dea32f7105c6a5135bd1e3bb57786d8");
}

static int
see_key(const struct rl_entry *e, void *text)
{
	assert_int_equal(e->key_len, RL_KEY_DIGEST_SIZE - 1);
	assert_int_equal(e->key_kept, RL_KEY_DIGEST_SIZE - 1);
	assert_memory_equal(e->key, text, e->key_kept);
	return 1;
}

/* What adapters do: the key is limited, and a segment as it is by default keeps its name. */
static void
test_in_use(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1, 60 * RL_SECOND, 0, false);
	unsigned char *key = make_key(RL_KEY_MAX + 1);
	char text[RL_KEY_DIGEST_SIZE];
	size_t len = rl_key_digest(key, RL_KEY_MAX + 1, text);
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_check(rl, rule, key, RL_KEY_MAX + 1, 1, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -ENAMETOOLONG);
	assert_int_equal(rl_check(rl, rule, text, len, 1, NULL), RL_ALLOWED);
	assert_int_equal(rl_check(rl, rule, text, len, 1, NULL), RL_DENIED);
	assert_int_equal(rl_walk(rl, rl_now(rl), NULL, see_key, text), 1);
	free(key);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nist),         cmocka_unit_test(test_a_million),
		cmocka_unit_test(test_every_length), cmocka_unit_test(test_text),
		cmocka_unit_test(test_every_digit),  cmocka_unit_test(test_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
