/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/complain.h"
#include "base/escape.h"
#include "text/utf8.h"

#define ESCAPED_SIZE 4 /* of \xNN */

static char *
escape_bytes(char *out, const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++, out += ESCAPED_SIZE)
		snprintf(out, ESCAPED_SIZE + 1, "\\x%02x", bytes[i]);
	return out;
}

static bool
is_plain(uint32_t character)
{
	return character != '\\' && character != '"' && character != '\'' &&
	       utf8_is_printable(character);
}

char *
escape(const void *bytes, size_t len)
{
	char *text = need(calloc(ESCAPED_SIZE, len + 1));
	char *out = text;

	for (const unsigned char *at = bytes, *end = at + len; at < end;) {
		uint32_t character;
		size_t size = utf8_decode(at, (size_t)(end - at), &character);

		if (size > 0 && is_plain(character))
			out = mempcpy(out, at, size);
		else
			out = escape_bytes(out, at, size ? size : 1);
		at += size ? size : 1;
	}
	return text;
}
