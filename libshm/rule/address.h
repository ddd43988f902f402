/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADDRESS_H
#define RL_ADDRESS_H

/*
 * IP addresses in text, and the networks they lie in. ::ffff:a.b.c.d is a.b.c.d everywhere.
 */

#include <stdbool.h>
#include <stddef.h>

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

/* As rl_network_parse() takes it, without "/BITS" for a single address. Returns its length. */
size_t rl_network_text(const unsigned char key[static RL_NETWORK_KEY_MAX],
                       char text[static RL_NETWORK_TEXT_MAX]);

/* True if the address lies in the network of `prefix` bits of `network`. */
bool rl_network_has(const struct rl_address *network, unsigned prefix,
                    const struct rl_address *address);

#endif
