/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/cut.h"

#include <arpa/inet.h>

const struct derivation derivations[] = {
	{"client", "client_port", CUT_PORT},
	{"method", "request", CUT_METHOD},
	{"uri", "request", CUT_URI},
	{"path", "uri", CUT_QUERY},
	{"path", "request", CUT_PATH},
	{"key", "rest", CUT_WORD},
	{"client", "rest", CUT_WORD},
	{"status", "result", CUT_AFTER_SLASH},
	{0},
};

static struct slice
second_word(struct slice text)
{
	size_t first = slice_until(text, ' ').len;

	return first == text.len ? (struct slice){0}
	                         : slice_until(slice_skip(text, first + 1), ' ');
}

/* "/path" of "https://host:443/path?query", too. */
static struct slice
cut_query(struct slice text)
{
	struct slice path = slice_until(text, '?'), scheme = slice_until(path, ':');
	size_t host;

	if (path.len - scheme.len < 3 || memcmp(scheme.at + scheme.len, "://", 3) != 0)
		return path;
	path = slice_skip(path, scheme.len + 3);
	host = slice_until(path, '/').len;
	return slice_skip(path, host);
}

static struct slice
cut_port(struct slice text)
{
	const char *colon = text.len > 0 ? memrchr(text.at, ':', text.len) : NULL;

	if (colon)
		text = slice_make(text.at, colon);
	if (text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
		text = (struct slice){text.at + 1, text.len - 2};
	return text;
}

struct slice
cut_apply(enum cut cut, struct slice text)
{
	size_t slash;

	if (!text.at)
		return text;
	switch (cut) {
	case CUT_NOTHING:
		break;
	case CUT_METHOD:
	case CUT_WORD:
		return slice_until(text, ' ');
	case CUT_URI:
		return second_word(text);
	case CUT_PATH:
		text = second_word(text);
		return text.at ? cut_query(text) : text;
	case CUT_QUERY:
		return cut_query(text);
	case CUT_PORT:
		return cut_port(text);
	case CUT_COMMA:
		return slice_until(text, ',');
	case CUT_AFTER_SLASH:
		slash = slice_until(text, '/').len;
		return slice_skip(text, slash < text.len ? slash + 1 : slash);
	}
	return text;
}

bool
is_address(struct slice text)
{
	char copy[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];

	if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.at, '\0', text.len))
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	return inet_pton(AF_INET, copy, bytes) == 1 || inet_pton(AF_INET6, copy, bytes) == 1;
}
