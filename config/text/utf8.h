/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_UTF8_H
#define CONFIG_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode the first character of `len` > 0 bytes. Returns how many bytes it has, or 0 if
 * they do not begin with a valid one. */
size_t utf8_decode(const unsigned char *bytes, size_t len, uint32_t *character);

bool utf8_is_valid(const unsigned char *bytes, size_t len);

/* False for a character that could move the cursor, reorder or hide text. */
bool utf8_is_printable(uint32_t character);

#endif
