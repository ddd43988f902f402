/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/match.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "text/utf8.h"

#define PREFIX_MAX 63 /* bytes, see enum rl_match */

/* Bytes of the first character; one that is none counts as a character of its own. */
static size_t
character_size(const char *bytes, size_t len)
{
	uint32_t character;
	size_t size = utf8_decode((const unsigned char *)bytes, len, &character);

	return size ? size : 1;
}

/* How many bytes of the key the glob's first element takes; 0 if it does not match them.
 * *glob_size says how long the element is. */
static size_t
match_one(const char *glob, size_t glob_len, const char *key, size_t key_len, size_t *glob_size)
{
	bool is_quoted = glob[0] == '\\' && glob_len > 1;

	*glob_size = is_quoted ? 2 : 1;
	if (glob[0] == '?')
		return character_size(key, key_len);
	return glob[is_quoted] == key[0];
}

/*
 * Only the last * need be tried again: what an earlier one has let match stays matched,
 * so the cost is at most the product of the lengths.
 */
bool
glob_matches(const char *glob, size_t glob_len, const char *key, size_t key_len)
{
	const char *glob_end = glob + glob_len, *key_end = key + key_len;
	const char *star = NULL, *star_key = NULL;

	for (;;) {
		size_t glob_size = 0, key_size = 0;

		if (glob < glob_end && *glob == '*') {
			star = ++glob;
			star_key = key;
			continue;
		}
		if (glob == glob_end && key == key_end)
			return true;
		if (glob < glob_end && key < key_end)
			key_size = match_one(glob, (size_t)(glob_end - glob), key,
			                     (size_t)(key_end - key), &glob_size);
		if (key_size > 0) {
			glob += glob_size;
			key += key_size;
		} else if (star && star_key < key_end) {
			glob = star;
			key = ++star_key;
		} else {
			return false;
		}
	}
}

/* Cut "/24" from the end of an address; false if there is none. */
static bool
split_network(const char *text, size_t len, char address[INET6_ADDRSTRLEN], const char **rest)
{
	const char *slash = memchr(text, '/', len);
	unsigned char bytes[sizeof(struct in6_addr)];

	if (!slash || slash - text >= INET6_ADDRSTRLEN)
		return false;
	*(char *)mempcpy(address, text, (size_t)(slash - text)) = '\0';
	*rest = slash + 1;
	return inet_pton(AF_INET, address, bytes) == 1 || inet_pton(AF_INET6, address, bytes) == 1;
}

/* Keys do not end with a NUL, so number_read() will not do. */
static bool
read_bits(const char *text, const char *end, unsigned *bits)
{
	if (end - text < 1 || end - text > 3)
		return false;
	for (*bits = 0; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		*bits = *bits * 10 + (unsigned)(*text - '0');
	}
	return *bits <= 128;
}

const char *
match_parse(const char *text, struct match *match)
{
	struct pattern_text *read = &match->network;
	const char *wrong;

	*match = (struct match){.pattern = {RL_MATCH_KEY, text, strlen(text)}};
	if (strpbrk(text, "*?\\"))
		return NULL;
	wrong = pattern_parse(text, match->pattern.key_len, read);
	if (wrong || read->pattern.match != RL_MATCH_NETWORK)
		return wrong;
	match->pattern = read->pattern;
	return NULL;
}

bool
match_make(const char *what, const char *text, struct match *match)
{
	const char *wrong = match_parse(text, match);
	char *shown;

	if (!wrong)
		return true;
	shown = escape(text, strlen(text));
	complain("%s: '%s' %s; with a \\ before it, it is the key of this very name", what, shown,
	         wrong);
	free(shown);
	return false;
}

bool
match_is_all(const struct match *match)
{
	const struct rl_pattern *p = &match->pattern;

	return p->match == RL_MATCH_KEY && p->key_len == 1 && memcmp(p->key, "*", 1) == 0;
}

bool
match_as_pattern(const struct match *match, struct rl_pattern *pattern)
{
	const char *glob = match->pattern.key;

	*pattern = match->pattern;
	if (pattern->match == RL_MATCH_NETWORK)
		return true;
	pattern->match = RL_MATCH_PREFIX;
	pattern->key_len = strcspn(glob, "*?\\");
	return pattern->key_len > 0 && pattern->key_len <= PREFIX_MAX &&
	       strcmp(glob + pattern->key_len, "*") == 0;
}

unsigned
network_bits(const struct rl_pattern *network)
{
	const char *text = network->key, *slash = memchr(text, '/', network->key_len);
	unsigned bits;

	return slash && read_bits(slash + 1, text + network->key_len, &bits) ? bits : 128;
}

bool
network_has(const struct rl_pattern *network, const struct key_view *key)
{
	char address[INET6_ADDRSTRLEN];
	const char *rest;
	unsigned bits;

	if (!split_network(key->bytes, key->kept, address, &rest))
		return rl_pattern_matches(network, key->bytes, key->kept) == 1;
	return read_bits(rest, (const char *)key->bytes + key->kept, &bits) &&
	       bits >= network_bits(network) &&
	       rl_pattern_matches(network, address, strlen(address)) == 1;
}

/* A name in full, of which the bytes that are kept are the first: what follows has the same length,
 * and is not known. */
static bool
is_named_in_full(const struct rl_pattern *pattern, const struct key_view *key)
{
	return pattern->key_len == key->len && !memchr(pattern->key, '*', pattern->key_len) &&
	       memcmp(pattern->key, key->bytes, key->kept) == 0;
}

bool
match_has(const struct match *match, const struct key_view *key)
{
	const struct rl_pattern *pattern = &match->pattern;

	if (!key->bytes)
		return false;
	if (pattern->match == RL_MATCH_NETWORK)
		return key->kept == key->len && network_has(pattern, key);
	return glob_matches(pattern->key, pattern->key_len, key->bytes, key->kept) ||
	       (key->kept < key->len && is_named_in_full(pattern, key));
}
