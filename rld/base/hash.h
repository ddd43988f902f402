/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_HASH_H
#define RLD_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_OF_NONE UINT64_C(0xcbf29ce484222325)

/* FNV-1a: of bytes with that hash, and these behind them. */
static inline uint64_t
hash_more(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
