/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/mask.h"

#include <stdbool.h>
#include <string.h>

#define V4_NUMBERS 4
#define V4_SHOWN 3 /* numbers */
#define V4_BYTES 4
#define V4_BYTES_SHOWN 3
#define V6_COLONS 6 /* at least, where nothing is left out by :: */
#define V6_SHOWN 4  /* groups */
#define V6_BYTES 16
#define V6_BYTES_SHOWN 8

/* The text that is read, and the text that is written. */
struct masking {
	const char *key;
	size_t len;
	bool is_cut; /* more bytes followed */
	char *to;
	size_t at;
	bool is_masked;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_of_v4(char c)
{
	return is_digit(c) || c == '.';
}

static bool
is_of_v6(char c)
{
	return is_of_v4(c) || c == ':' || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How many of the bytes from `at` on are `of` an address. */
static size_t
run_at(const struct masking *m, size_t at, bool (*of)(char))
{
	size_t end = at;

	while (end < m->len && of(m->key[end]))
		end++;
	return end - at;
}

/* Show the first `shown` bytes of a run. */
static void
put(struct masking *m, const char *run, size_t shown, size_t len)
{
	memcpy(m->to + m->at, run, shown);
	m->at += shown;
	if (shown == len)
		return;
	m->is_masked = true;
	if (run + len < m->key + m->len)
		m->to[m->at++] = '*';
}

/* Where number V4_NUMBERS begins; `len` if there are not so many. */
static size_t
v4_shown(const char *run, size_t len)
{
	unsigned numbers = 0;

	for (size_t i = 0; i < len; i++) {
		numbers += is_digit(run[i]) && (i == 0 || run[i - 1] == '.');
		if (numbers > V4_SHOWN)
			return i;
	}
	return len;
}

/* Behind the groups that may be shown, if `is_address` or it looks like one; else `len`. */
static size_t
v6_shown(const char *run, size_t len, bool is_address)
{
	unsigned colons = 0;
	size_t shown = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_gap = run[i] == ':' && i > 0 && run[i - 1] == ':';

		colons += run[i] == ':';
		if (shown == 0 && (is_gap || colons == V6_SHOWN))
			shown = i + 1;
		is_address |= is_gap || colons >= V6_COLONS;
	}
	return is_address && shown > 0 ? shown : len;
}

/* ::ffff: and an address of IPv4: bytes before that. */
static size_t
mapped(const char *run, size_t len)
{
	static const char prefix[] = "::ffff:";
	size_t size = sizeof(prefix) - 1;

	if (len < size || strncasecmp(run, prefix, size) != 0 ||
	    memchr(run + size, ':', len - size))
		return 0;
	return v4_shown(run + size, len - size) < len - size ? size : 0;
}

/* A run without colons enough is looked through for IPv4, and so is what stands beside them. */
static void
mask_v4(struct masking *m, size_t at, size_t end)
{
	while (at < end) {
		size_t len = run_at(m, at, is_of_v4);

		if (len == 0)
			put(m, m->key + at, len = 1, 1);
		else
			put(m, m->key + at, v4_shown(m->key + at, len), len);
		at += len;
	}
}

static void
mask_run(struct masking *m, size_t at, size_t len)
{
	const char *run = m->key + at;
	size_t before = mapped(run, len), shown;

	shown = before > 0 ? len : v6_shown(run, len, m->is_cut && at + len == m->len);
	if (shown < len)
		put(m, run, shown, len);
	else
		mask_v4(m, at, at + len);
}

/* 4 or 16 bytes, not all of them of a text. */
static bool
is_binary(const char *key, size_t kept, size_t len)
{
	if (len != V4_BYTES && len != V6_BYTES)
		return false;
	for (size_t i = 0; i < kept; i++)
		if (key[i] < 0x20 || key[i] > 0x7e)
			return true;
	return false;
}

static struct key_view
mask_binary(const struct key_view *key)
{
	size_t shown = key->len == V4_BYTES ? V4_BYTES_SHOWN : V6_BYTES_SHOWN;

	return (struct key_view){key->bytes, key->kept < shown ? key->kept : shown, key->len,
	                         key->id};
}

struct key_view
mask_key(const struct key_view *key, struct mask *mask)
{
	struct masking m = {.key = key->bytes,
	                    .len = key->kept,
	                    .is_cut = key->kept < key->len,
	                    .to = mask->bytes};

	if (!key->bytes)
		return *key;
	if (is_binary(key->bytes, key->kept, key->len))
		return mask_binary(key);
	for (size_t at = 0; at < m.len;) {
		size_t len = run_at(&m, at, is_of_v6);

		if (len == 0)
			put(&m, m.key + at, len = 1, 1);
		else
			mask_run(&m, at, len);
		at += len;
	}
	if (!m.is_masked)
		return *key;
	return (struct key_view){m.at > 0 ? m.to : NULL, m.at, m.at + 1, key->id};
}
