/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "rl.h"
#include "shared/sha256.h"

#define MARK "S256:"

/* 32 bytes are 43 digits of 6 bits: the last has two more bits, which are 0. */
#define DIGITS ((RL_SHA256_BYTES * 8 + 5) / 6)

_Static_assert(sizeof MARK + DIGITS == RL_KEY_DIGEST_SIZE, "mark, digits and NUL");
_Static_assert(RL_KEY_DIGEST_SIZE - 1 <= RL_KEY_BYTES_DEFAULT, "it is kept whole by default");

/* The i-th 6 bits of the digest, behind which there is a byte of zeros. */
static unsigned
digit(const unsigned char *digest, size_t i)
{
	size_t byte = i * 6 / 8, bit = i * 6 % 8;
	unsigned word = (unsigned)digest[byte] << 8 | digest[byte + 1];

	return word >> (10 - bit) & 63;
}

size_t
rl_key_digest(const void *key, size_t key_len, char text[RL_KEY_DIGEST_SIZE])
{
	static const char base64url[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char digest[RL_SHA256_BYTES + 1] = {0};
	char *at = text + sizeof MARK - 1;

	rl_sha256(key, key_len, digest);
	memcpy(text, MARK, sizeof MARK - 1);
	for (size_t i = 0; i < DIGITS; i++)
		*at++ = base64url[digit(digest, i)];
	*at = '\0';
	return (size_t)(at - text);
}
