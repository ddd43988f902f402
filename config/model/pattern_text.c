/* SPDX-License-Identifier: BSD-2-Clause */

#include "model/pattern_text.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PREFIX_MAX 63  /* bytes, see enum rl_match */
#define MAPPED_BITS 96 /* of ::ffff:0:0/96 */

#define V4_LETTERS "0123456789.,;- " /* of what somebody may take for an address, or several */
#define DIGITS "0123456789"
#define HEX_LETTERS "abcdefABCDEF"
#define HEX_DIGITS DIGITS HEX_LETTERS
#define V6_LETTERS HEX_DIGITS ":."
#define V6_SLIPS HEX_DIGITS "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ:." /* with one mistyped */

static const char not_v4[] = "is no address: expected four numbers of 0 to 255, as in 192.0.2.1";
static const char not_v6[] =
	"is no address: expected eight groups of hexadecimal digits, or :: once for some of them";
static const char not_bare[] =
	"is no address: expected one without brackets, port or zone, as in 192.0.2.1 or "
	"2001:db8::1";
static const char not_glob[] =
	"is no pattern: of wildcards there is a * alone, at the end, as in user:*";
static const char not_v4_network[] =
	"is no network: expected an address and 0 to 32 bits, as in 192.0.2.0/24";
static const char not_v6_network[] =
	"is no network: expected an address and 0 to 128 bits, as in 2001:db8::/32";

struct host {
	int family;
	unsigned bits; /* 32 or 128 */
	unsigned char bytes[sizeof(struct in6_addr)];
};

static void
unmap(struct host *host)
{
	static const unsigned char mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

	if (host->family != AF_INET6 || memcmp(host->bytes, mapped, sizeof(mapped)) != 0)
		return;
	host->family = AF_INET;
	host->bits = 32;
	memmove(host->bytes, host->bytes + sizeof(mapped), sizeof(struct in_addr));
}

/* As it is written: a v4-mapped one stays v6. */
static bool
host_read(const char *text, size_t len, struct host *host)
{
	char copy[INET6_ADDRSTRLEN];
	bool is_v6 = memchr(text, ':', len) != NULL;

	if (len >= sizeof(copy) || memchr(text, '\0', len))
		return false;
	*(char *)mempcpy(copy, text, len) = '\0';
	host->family = is_v6 ? AF_INET6 : AF_INET;
	host->bits = is_v6 ? 128 : 32;
	return inet_pton(host->family, copy, host->bytes) == 1;
}

static void
put_host(const struct host *host, enum rl_match match, struct pattern_text *out)
{
	inet_ntop(host->family, host->bytes, out->canonical, sizeof(out->canonical));
	out->pattern = (struct rl_pattern){match, out->canonical, strlen(out->canonical)};
}

static void
put_network(struct host *host, unsigned prefix, struct pattern_text *out)
{
	if (prefix >= MAPPED_BITS && host->bits == 128) {
		unmap(host);
		prefix -= host->bits == 32 ? MAPPED_BITS : 0;
	}
	for (unsigned bit = prefix; bit < host->bits; bit++)
		host->bytes[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
	put_host(host, RL_MATCH_NETWORK, out);
	out->pattern.key_len += (size_t)snprintf(out->canonical + out->pattern.key_len,
	                                         sizeof("/128"), "/%u", prefix);
}

static bool
read_bits(const char *text, size_t len, unsigned most, unsigned *bits)
{
	*bits = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*bits = *bits * 10 + (unsigned)(text[i] - '0');
	}
	return len > 0 && len <= 3 && *bits <= most;
}

static bool
network_read(const char *text, size_t len, size_t slash, struct host *host, unsigned *prefix)
{
	return host_read(text, slash, host) &&
	       read_bits(text + slash + 1, len - slash - 1, host->bits, prefix);
}

static size_t
count_of(const char *text, size_t len, char wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == wanted;
	return count;
}

static bool
has_only(const char *text, size_t len, const char *letters)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || !strchr(letters, text[i]))
			return false;
	return len > 0;
}

/* "v1.2.3" and "1.2" do not seem to be one. "1.2.3" does, whatever it is. */
static bool
seems_v4(const char *text, size_t len, size_t dots)
{
	return has_only(text, len, V4_LETTERS) && count_of(text, len, '.') >= dots;
}

/* "2001" and "" begin addresses; "user" and "Foo" begin names. */
static bool
begins_v6(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	size_t size = colon ? (size_t)(colon - text) : len;

	return size == 0 || (size <= 4 && has_only(text, size, HEX_DIGITS) &&
	                     !has_only(text, size, HEX_LETTERS));
}

/* "00:11:22:33:44:55" is no address, and does not seem to be one; nor does "Foo::Bar". */
static bool
seems_v6(const char *text, size_t len)
{
	return (count_of(text, len, ':') >= 7 || memmem(text, len, "::", 2)) &&
	       (has_only(text, len, V6_LETTERS) ||
	        (has_only(text, len, V6_SLIPS) && begins_v6(text, len)));
}

static bool
has_zone(const char *text, size_t len)
{
	const char *zone = memchr(text, '%', len);
	struct host host;

	return zone && host_read(text, (size_t)(zone - text), &host);
}

static bool
has_port(const char *text, size_t len)
{
	const char *port = memrchr(text, ':', len);
	size_t size = port ? (size_t)(port - text) : 0;

	return port && seems_v4(text, size, 2) &&
	       (size + 1 == len || has_only(port + 1, len - size - 1, DIGITS));
}

/* "[::1]", and with a port behind it; "[ab]" is none. */
static bool
has_brackets(const char *text, size_t len)
{
	const char *end = memchr(text, ']', len);
	size_t size = end ? (size_t)(end - text) : 0;

	return size > 1 && text[0] == '[' &&
	       (seems_v6(text + 1, size - 1) || seems_v4(text + 1, size - 1, 2) ||
	        has_zone(text + 1, size - 1));
}

static bool
seems_dressed(const char *text, size_t len)
{
	return has_zone(text, len) || has_port(text, len) || has_brackets(text, len);
}

/*
 * Characters that shells and other tools take for a pattern. Paths and URLs have ? and [] of their
 * own.
 */
static bool
seems_glob(const char *text, size_t len)
{
	const char *bracket = memchr(text, '[', len);

	if (memchr(text, '/', len))
		return false;
	return memchr(text, '?', len) ||
	       (bracket && memchr(bracket, ']', len - (size_t)(bracket - text)));
}

static const char *
parse_network(const char *text, size_t len, size_t slash, struct pattern_text *out)
{
	struct host host;
	unsigned prefix;

	if (network_read(text, len, slash, &host, &prefix)) {
		put_network(&host, prefix, out);
		return NULL;
	}
	if (seems_v6(text, slash))
		return not_v6_network;
	if (seems_dressed(text, slash))
		return not_bare;
	return seems_v4(text, slash, 1) ? not_v4_network : pattern_exact(text, len, out);
}

static const char *
parse_key(const char *text, size_t len, struct pattern_text *out)
{
	struct host host;

	if (host_read(text, len, &host)) {
		unmap(&host);
		put_host(&host, RL_MATCH_KEY, out);
		return NULL;
	}
	if (seems_v6(text, len))
		return not_v6;
	if (seems_v4(text, len, 2))
		return not_v4;
	if (seems_dressed(text, len))
		return not_bare;
	return seems_glob(text, len) ? not_glob : pattern_exact(text, len, out);
}

static const char *
parse_prefix(const char *text, size_t len, size_t star, struct pattern_text *out)
{
	if (len == 1)
		return "would be every key, and there is no pattern for that: what holds for all, "
		       "the rule itself says";
	if (star != len - 1)
		return "is no pattern: a * stands for the rest of a key, only at its end, as in "
		       "user:*";
	if (seems_glob(text, star))
		return not_glob;
	if (star > PREFIX_MAX)
		return "is too long: a prefix has at most 63 bytes before its *";
	out->pattern = (struct rl_pattern){RL_MATCH_PREFIX, text, star};
	return NULL;
}

const char *
pattern_parse(const char *text, size_t len, struct pattern_text *out)
{
	const char *star = memchr(text, '*', len), *slash = memchr(text, '/', len);

	if (star)
		return parse_prefix(text, len, (size_t)(star - text), out);
	if (slash)
		return parse_network(text, len, (size_t)(slash - text), out);
	return parse_key(text, len, out);
}

const char *
pattern_exact(const char *text, size_t len, struct pattern_text *out)
{
	out->pattern = (struct rl_pattern){RL_MATCH_KEY, text, len};
	if (len == 0)
		return "is empty: an empty key is never limited";
	return len <= RL_KEY_MAX ? NULL : "is too long: a key has at most 4096 bytes";
}

bool
pattern_is_address(const struct rl_pattern *pattern)
{
	struct host host;

	if (pattern->match == RL_MATCH_PREFIX)
		return has_only(pattern->key, pattern->key_len, V6_LETTERS);
	return pattern->match == RL_MATCH_NETWORK ||
	       host_read(pattern->key, pattern->key_len, &host);
}

void
pattern_canonical(const struct rl_pattern *pattern, struct pattern_text *out)
{
	const char *text = pattern->key;
	const char *slash = text ? memchr(text, '/', pattern->key_len) : NULL;
	struct host host;
	unsigned prefix;

	out->pattern = *pattern;
	if (pattern->match == RL_MATCH_NETWORK && slash &&
	    network_read(text, pattern->key_len, (size_t)(slash - text), &host, &prefix))
		put_network(&host, prefix, out);
}
