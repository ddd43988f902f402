/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/page_key.h"

#include <stdio.h>
#include <string.h>
#include <text/utf8.h>

static const char ellipsis[] = "\xe2\x80\xa6";

/* Returns how many bytes of the key it has written. */
static size_t
write_character(FILE *to, const unsigned char *key, size_t len)
{
	uint32_t character;
	size_t size = utf8_decode(key, len, &character);

	if (size > 0 && utf8_is_printable(character) && character != '\\') {
		fwrite(key, 1, size, to);
		return size;
	}
	if (*key == '\\')
		fputs("\\\\", to);
	else
		fprintf(to, "\\x%02x", *key);
	return 1;
}

json_t *
page_key(const void *key, size_t kept, size_t len)
{
	char text[4 * PAGE_KEY_MOST + sizeof ellipsis + 16] = "";
	const size_t most = kept < PAGE_KEY_MOST ? kept : PAGE_KEY_MOST;
	FILE *to = fmemopen(text, sizeof text, "w");

	if (!to)
		return NULL;
	for (size_t at = 0; key && at < most;)
		at += write_character(to, (const unsigned char *)key + at, kept - at);
	if (!key || most < len)
		fputs(ellipsis, to);
	fclose(to);
	return json_string(text);
}
