/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64 /* bytes */
#define LENGTH 8 /* bytes of the message's length, in bits, at the end of the last block */

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constant[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t
rotate(uint32_t x, int bits)
{
	return x >> bits | x << (32 - bits);
}

/* The words of a block, and those that are made of them. */
static void
expand(const unsigned char *block, uint32_t w[static 64])
{
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

/* In the standard's letters. */
static void
add_block(uint32_t hash[static 8], const unsigned char *block)
{
	uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3];
	uint32_t e = hash[4], f = hash[5], g = hash[6], h = hash[7], w[64];

	expand(block, w);
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
		              ((e & f) ^ (~e & g)) + constant[i] + w[i];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
		              ((a & b) ^ (a & c) ^ (b & c));

		h = g, g = f, f = e, e = d + t1;
		d = c, c = b, b = a, a = t1 + t2;
	}
	hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d;
	hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h;
}

/* The bytes that are left, a bit that is one, zeros, and the length: one block or two. */
static void
add_end(uint32_t hash[static 8], const unsigned char *rest, size_t len, uint64_t bits)
{
	unsigned char end[2 * BLOCK] = {0};
	size_t size = len + 1 + LENGTH <= BLOCK ? BLOCK : 2 * BLOCK;

	if (len > 0)
		memcpy(end, rest, len);
	end[len] = 0x80;
	for (int i = 0; i < LENGTH; i++)
		end[size - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
	for (size_t at = 0; at < size; at += BLOCK)
		add_block(hash, end + at);
}

void
rl_sha256(const void *bytes, size_t len, unsigned char digest[static RL_SHA256_BYTES])
{
	/* The same of the square roots of the first eight primes. */
	uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *at = bytes;
	size_t left = len;

	for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
		add_block(hash, at);
	add_end(hash, at, left, (uint64_t)len * 8);
	for (int i = 0; i < RL_SHA256_BYTES; i++)
		digest[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
}
