/* SPDX-License-Identifier: BSD-2-Clause */
/* What a key and a condition look at: an attribute, or a part of it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd.h"

static const char *const kinds[] = {
	[PART_DOMAIN] = "domain(",
	[PART_LOCALPART] = "localpart(",
	[PART_NETWORK] = "network(",
	[PART_CLIENT] = "client(",
};

/* A number of at most three digits at *at, up to `most`; -1: there is none. */
static int
read_bits(const char **at, int most)
{
	int bits = 0;
	size_t digits = strspn(*at, "0123456789");

	for (size_t i = 0; i < digits && i < 4; i++)
		bits = 10 * bits + (*at)[i] - '0';
	*at += digits;
	return digits > 0 && bits >= 1 && bits <= most ? bits : -1;
}

static bool
has_bits(const struct part *part)
{
	return part->kind == PART_NETWORK || part->kind == PART_CLIENT;
}

/* What follows the attribute: ")", or bits: of a network both families', of a client IPv6's. */
static bool
read_end(const char *at, struct part *part)
{
	int v4 = 32, v6;

	if (strcmp(at, ")") == 0)
		return true;
	if (!has_bits(part) || *at != ',')
		return false;
	at += 1 + strspn(at + 1, " ");
	if (part->kind == PART_NETWORK) {
		v4 = read_bits(&at, 32);
		if (v4 < 0 || *at != ',')
			return false;
		at += 1 + strspn(at + 1, " ");
	}
	v6 = read_bits(&at, 128);
	part->v4 = (uint8_t)v4;
	part->v6 = (uint8_t)v6;
	return v6 >= 0 && strcmp(at, ")") == 0;
}

static enum part_kind
kind_of(const char *text)
{
	for (size_t i = PART_DOMAIN; i <= PART_CLIENT; i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			return (enum part_kind)i;
	return PART_WHOLE;
}

static const char *
expected(enum part_kind kind)
{
	switch (kind) {
	case PART_NETWORK:
		return "network(ATTRIBUTE), or network(ATTRIBUTE, BITS, BITS) of IPv4 and of IPv6, "
		       "is expected";
	case PART_CLIENT:
		return "client(ATTRIBUTE), or client(ATTRIBUTE, BITS) of IPv6, is expected";
	default:
		return "one attribute, and ')' at the end, are expected";
	}
}

const char *
part_read(const char *text, struct part *part)
{
	size_t len;

	*part = (struct part){.kind = kind_of(text), .v4 = 24, .v6 = 64};
	if (part->kind == PART_CLIENT)
		part->v4 = 32;
	if (part->kind != PART_WHOLE)
		text += strlen(kinds[part->kind]);
	else if (strchr(text, '('))
		return "domain(ATTRIBUTE), localpart(ATTRIBUTE), network(ATTRIBUTE, 24, 64) and "
		       "client(ATTRIBUTE, 64) are known";
	len = part->kind == PART_WHOLE ? strlen(text) : strcspn(text, ",)");
	if (len >= NAME_SIZE)
		return "the attribute's name is too long";
	memcpy(part->name, text, len);
	if (part->kind != PART_WHOLE && !read_end(text + len, part))
		return expected(part->kind);
	if (has_bits(part) && !part_is_address(part))
		return "client_address and server_address have networks, and no other attribute";
	return NULL;
}

bool
part_is_address(const struct part *part)
{
	return strcmp(part->name, "client_address") == 0 ||
	       strcmp(part->name, "server_address") == 0;
}

bool
address_read(struct text text, struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char copy[INET6_ADDRSTRLEN];

	if (text.len == 0 || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.bytes, text.len);
	copy[text.len] = '\0';
	*address = (struct address){.bits = 32};
	if (inet_pton(AF_INET, copy, address->bytes) == 1)
		return true;
	address->bits = 128;
	if (inet_pton(AF_INET6, copy, address->bytes) != 1)
		return false;
	if (memcmp(address->bytes, mapped, sizeof mapped) == 0) {
		memcpy(address->bytes, address->bytes + 12, 4);
		memset(address->bytes + 4, 0, 12);
		address->bits = 32;
	}
	return true;
}

void
address_mask(uint8_t bytes[16], unsigned bits)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = bits > 8 * i ? bits - 8 * i : 0;

		if (kept < 8)
			bytes[i] = (uint8_t)(bytes[i] & ~(0xff >> kept));
	}
}

/*
 * The network that an address lies in, as "192.0.2.0/24", of a client without its bits; empty for
 * what is no address.
 */
static struct text
network_of(struct text value, const struct part *part, char room[PART_ROOM])
{
	struct address address;
	unsigned bits;
	int len;

	if (!address_read(value, &address))
		return (struct text){"", 0};
	bits = address.bits == 32 ? part->v4 : part->v6;
	address_mask(address.bytes, bits);
	inet_ntop(address.bits == 32 ? AF_INET : AF_INET6, address.bytes, room, INET6_ADDRSTRLEN);
	len = (int)strlen(room);
	if (part->kind == PART_NETWORK)
		len += sprintf(room + len, "/%u", bits);
	return (struct text){room, (size_t)len};
}

struct text
part_value(const struct request *request, const struct part *part, char room[PART_ROOM])
{
	struct text value = request_get(request, part->name);
	const char *at = memrchr(value.bytes, '@', value.len);

	switch (part->kind) {
	case PART_DOMAIN:
		return at ? (struct text){at + 1, (size_t)(value.bytes + value.len - at - 1)}
		          : (struct text){"", 0};
	case PART_LOCALPART:
		return at ? (struct text){value.bytes, (size_t)(at - value.bytes)} : value;
	case PART_NETWORK:
	case PART_CLIENT:
		return network_of(value, part, room);
	default:
		return value;
	}
}
