/* SPDX-License-Identifier: BSD-2-Clause */
#include "slot.h"

#include <stdint.h>
#include <string.h>

#define POLYNOMIAL 0x1021u /* of CRC-16/XMODEM */

static unsigned
crc16(const char *bytes, size_t size)
{
	unsigned crc = 0;

	for (size_t i = 0; i < size; i++) {
		crc ^= (unsigned)(uint8_t)bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000u ? crc << 1 ^ POLYNOMIAL : crc << 1;
	}
	return crc & 0xffffu;
}

/* An empty {} is no tag. */
unsigned
store_slot(const char *key, size_t size)
{
	const char *open = memchr(key, '{', size), *close;

	if (open) {
		close = memchr(open + 1, '}', size - (size_t)(open + 1 - key));
		if (close && close > open + 1)
			return crc16(open + 1, (size_t)(close - open - 1)) % STORE_SLOTS;
	}
	return crc16(key, size) % STORE_SLOTS;
}
