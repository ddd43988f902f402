/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAPPED_BITS 96 /* of ::ffff:0:0/96 */

static bool
is_mapped(const struct rl_address *a)
{
	static const unsigned char prefix[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

	return a->bits == 128 && memcmp(a->bytes, prefix, sizeof prefix) == 0;
}

/* Four numbers of 0..255 without leading zeros. */
static bool
parse_v4(const unsigned char *text, size_t len, unsigned char bytes[4])
{
	const unsigned char *end = text + len;

	for (unsigned i = 0; text < end; i++) {
		unsigned octet = *text++ - (unsigned)'0', digit;

		if (octet > 9)
			return false;
		for (; text < end && (digit = *text - (unsigned)'0') <= 9; text++) {
			if (octet == 0 || octet * 10 + digit > 255)
				return false;
			octet = octet * 10 + digit;
		}
		bytes[i] = (unsigned char)octet;
		if (i == 3)
			return text == end;
		if (text == end || *text++ != '.')
			return false;
	}
	return false;
}

#define NO_DIGIT 16

static unsigned
hex_digit(unsigned char c)
{
	unsigned digit = c - (unsigned)'0', letter = (c | 0x20u) - 'a';

	if (digit <= 9)
		return digit;
	return letter < 6 ? letter + 10 : NO_DIGIT;
}

#define NO_GAP 17

/* "::" stands for what is missing, but for nothing. `at` bytes are there. */
static bool
fill_gap(unsigned gap, unsigned at, unsigned char bytes[16])
{
	if (gap == NO_GAP || at == 16)
		return gap == NO_GAP && at == 16;
	memmove(bytes + 16 - (at - gap), bytes + gap, at - gap);
	memset(bytes + gap, 0, 16 - at);
	return true;
}

/*
 * Eight groups of up to four hex digits, the last two may be an IPv4 address. As inet_pton() does,
 * which takes three times as long.
 */
static bool
parse_v6(const unsigned char *text, size_t len, unsigned char bytes[16])
{
	const unsigned char *end = text + len;
	unsigned at = 0, gap = NO_GAP;

	if (len >= 2 && text[0] == ':' && text[1] == ':') {
		gap = 0;
		text += 2;
	}
	while (text < end) {
		const unsigned char *group = text;
		unsigned value = 0, digit;

		for (; text < end && text - group < 4 && (digit = hex_digit(*text)) != NO_DIGIT;
		     text++)
			value = value << 4 | digit;
		if (text < end && *text == '.')
			return at <= 12 && parse_v4(group, (size_t)(end - group), bytes + at) &&
			       fill_gap(gap, at + 4, bytes);
		if (text == group || at == 16)
			return false;
		bytes[at++] = (unsigned char)(value >> 8);
		bytes[at++] = (unsigned char)value;
		if (text == end)
			break;
		if (*text++ != ':' || text == end || (*text == ':' && gap != NO_GAP))
			return false;
		if (*text == ':') {
			gap = at;
			text++;
		}
	}
	return fill_gap(gap, at, bytes);
}

/* The address as written: a v4-mapped one stays v6. */
static bool
parse_as_is(const void *text, size_t len, struct rl_address *a)
{
	*a = (struct rl_address){.bits = 32, .known = 32};
	if (parse_v4(text, len, a->bytes))
		return true;
	a->bits = a->known = 128;
	return parse_v6(text, len, a->bytes);
}

static void
unmap(struct rl_address *a)
{
	a->bits = a->known = 32;
	memmove(a->bytes, a->bytes + MAPPED_BITS / 8, 4);
	memset(a->bytes + 4, 0, sizeof a->bytes - 4);
}

bool
rl_address_parse(const void *text, size_t len, struct rl_address *a)
{
	if (!parse_as_is(text, len, a))
		return false;
	if (is_mapped(a))
		unmap(a);
	return true;
}

/* Decimal digits, 0..most. */
static bool
parse_bits(const char *text, size_t len, unsigned most, unsigned *bits)
{
	*bits = 0;
	if (len == 0 || len > 3)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*bits = *bits * 10 + (unsigned)(text[i] - '0');
	}
	return *bits <= most;
}

bool
rl_network_parse(const void *text, size_t len, struct rl_address *a, unsigned *prefix)
{
	const char *slash = memchr(text, '/', len);
	size_t address_len = slash ? (size_t)(slash - (const char *)text) : len;

	if (!parse_as_is(text, address_len, a))
		return false;
	*prefix = a->bits;
	if (slash && !parse_bits(slash + 1, len - address_len - 1, a->bits, prefix))
		return false;
	if (is_mapped(a) && *prefix >= MAPPED_BITS) {
		unmap(a);
		*prefix -= MAPPED_BITS;
	}
	return true;
}

/* The first `prefix` bits of eight bytes. */
static uint64_t
masked(const unsigned char bytes[8], unsigned prefix)
{
	return htole64(rl_network_masked(rl_sip_read(bytes), prefix));
}

size_t
rl_network_key(const struct rl_address *a, unsigned prefix,
               unsigned char key[static RL_NETWORK_KEY_MAX])
{
	uint64_t upper = masked(a->bytes, prefix);
	uint64_t lower = masked(a->bytes + 8, prefix > 64 ? prefix - 64 : 0);

	key[0] = (unsigned char)a->bits;
	key[1] = (unsigned char)prefix;
	memcpy(key + 2, &upper, sizeof upper);
	memcpy(key + 10, &lower, sizeof lower);
	return 2 + a->bits / 8;
}

size_t
rl_network_text(const unsigned char key[static RL_NETWORK_KEY_MAX],
                char text[static RL_NETWORK_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN] = "";
	int len;

	inet_ntop(key[0] == 32 ? AF_INET : AF_INET6, key + 2, address, sizeof address);
	if (key[1] == key[0])
		len = snprintf(text, RL_NETWORK_TEXT_MAX, "%s", address);
	else
		len = snprintf(text, RL_NETWORK_TEXT_MAX, "%s/%u", address, key[1]);
	return len < 0 ? 0 : (size_t)len;
}

bool
rl_network_has(const struct rl_address *network, unsigned prefix, const struct rl_address *address)
{
	unsigned char a[RL_NETWORK_KEY_MAX], b[RL_NETWORK_KEY_MAX];

	if (network->bits != address->bits)
		return false;
	rl_network_key(network, prefix, a);
	return memcmp(a, b, rl_network_key(address, prefix, b)) == 0;
}
