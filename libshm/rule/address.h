/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADDRESS_H
#define RL_ADDRESS_H

/*
 * IP addresses in text, and the networks they lie in. ::ffff:a.b.c.d is a.b.c.d everywhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/hash.h"

struct rl_address {
	unsigned bits;  /* 32 or 128 */
	unsigned known; /* leading bits that are known; fewer than all: any host of that network */
	unsigned char bytes[16];
};

/* A network as bytes to hash: bits of the family, of the prefix, and the address masked. */
#define RL_NETWORK_KEY_MAX 18
#define RL_NETWORK_TEXT_MAX 64

bool rl_address_parse(const void *text, size_t len, struct rl_address *address);

/* "ADDRESS/BITS", or an address alone, which is its own network. */
bool rl_network_parse(const void *text, size_t len, struct rl_address *address, unsigned *prefix);

/* 0 <= prefix <= address->bits. Returns how many bytes it has; the others are zero. */
size_t rl_network_key(const struct rl_address *address, unsigned prefix,
                      unsigned char key[static RL_NETWORK_KEY_MAX]);

/* The first `prefix` bits of the word that rl_sip_read() makes of the first eight bytes left. */
static inline uint64_t
rl_network_masked(uint64_t word, unsigned prefix)
{
	if (prefix == 0)
		return 0;
	return prefix < 64 ? word & __builtin_bswap64(UINT64_MAX << (64 - prefix)) : word;
}

/* rl_hash_of_key() of rl_network_key(), by words that are nowhere in memory. */
static inline __attribute__((always_inline)) uint64_t
rl_network_hash(struct rl_sip start, const struct rl_address *a, unsigned prefix)
{
	uint64_t head = a->bits | (uint64_t)prefix << 8, lower,
		 upper = rl_network_masked(rl_sip_read(a->bytes), prefix);

	if (a->bits == 32)
		return rl_hash_of_last(start, head | upper << 16 | UINT64_C(6) << 56);
	lower = rl_network_masked(rl_sip_read(a->bytes + 8), prefix > 64 ? prefix - 64 : 0);
	rl_sip_word(&start, head | upper << 16, 1);
	rl_sip_word(&start, upper >> 48 | lower << 16, 1);
	return rl_hash_of_last(start, lower >> 48 | UINT64_C(18) << 56);
}

/* As rl_network_parse() takes it, without "/BITS" for a single address. Returns its length. */
size_t rl_network_text(const unsigned char key[static RL_NETWORK_KEY_MAX],
                       char text[static RL_NETWORK_TEXT_MAX]);

/* True if the address lies in the network of `prefix` bits of `network`. */
bool rl_network_has(const struct rl_address *network, unsigned prefix,
                    const struct rl_address *address);

#endif
