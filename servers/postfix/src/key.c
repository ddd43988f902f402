/* SPDX-License-Identifier: BSD-2-Clause */
/* The key of a check: what a request has in its parts. */
#include "policyd.h"

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Appends a value, as far as there is room; at most two bytes for each of it. */
static size_t
append(const struct check *check, struct text value, char *key, size_t len, size_t size)
{
	for (size_t i = 0; i < value.len && len + 2 <= size; i++) {
		char c = value.bytes[i];

		if (check->key_parts > 1 && (c == '|' || c == '\\'))
			key[len++] = '\\';
		key[len++] = check->is_lowercase ? lower(c) : c;
	}
	return len;
}

size_t
check_key(const struct request *request, const struct check *check, char *key, size_t size)
{
	char room[PART_ROOM];
	size_t len = 0;

	if (part_value(request, &check->key[0], room).len == 0)
		return 0;
	for (size_t i = 0; i < check->key_parts; i++) {
		if (i > 0 && len < size)
			key[len++] = '|';
		len = append(check, part_value(request, &check->key[i], room), key, len, size);
	}
	return len;
}
