/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/key.h"

#include <arpa/inet.h>
#include <rl_http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/output.h"

#define TOO_LONG "the key is too long"
#define V4_BITS 32
#define V6_BITS 128

/* Cut "/24" off the end; false if there is none, *bits is 0 if it is out of range. */
static bool
cut_bits(char *text, uint64_t most, unsigned *bits)
{
	char *slash = strrchr(text, '/');
	const char *digits = slash ? slash + 1 : NULL;
	uint64_t number;

	if (!slash || slash == text || !number_read(&digits, &number) || *digits)
		return false;
	*slash = '\0';
	*bits = number >= 1 && number <= most ? (unsigned)number : 0;
	return true;
}

static const char *
parse_part(char *text, struct wants *wants, struct key_part *part)
{
	unsigned last;

	if (cut_bits(text, V6_BITS, &last)) {
		bool has_both = cut_bits(text, V4_BITS, &part->v4);

		part->v6 = has_both ? last : V6_BITS;
		if (!has_both)
			part->v4 = last <= V4_BITS ? last : 0;
		if (part->v4 == 0 || part->v6 == 0)
			return "has a network of 1 to 32 bits, and of IPv6 1 to 128, as in "
			       "client/24/64";
	}
	if (*text == '\0')
		return "has a field without a name";
	part->is_client = part->v4 == 0 && strcmp(text, "client") == 0;
	part->want = wants_add(wants, text);
	return part->want == WANTS_MAX ? "has too many fields" : NULL;
}

const char *
key_parse(const char *text, struct wants *wants, struct key_spec *spec)
{
	const char *wrong = NULL;
	char *rest;

	*spec = (struct key_spec){.text = need(strdup(text))};
	rest = spec->text;
	while (rest && !wrong) {
		char *part = strsep(&rest, ",");

		wrong = spec->count == KEY_PARTS_MAX
		                ? "has more than 4 fields"
		                : parse_part(part, wants, &spec->part[spec->count++]);
	}
	return wrong;
}

static void
mask(unsigned char *bytes, size_t count, unsigned bits)
{
	for (size_t i = 0; i<count; i++, bits -= bits> 8 ? 8 : bits)
		bytes[i] &= (unsigned char)(bits >= 8 ? 0xff : 0xff00 >> bits);
}

/* "192.0.2.0/24" of "192.0.2.77"; 0 if it is no address. */
static size_t
write_network(const struct key_part *part, struct slice value, char *out, size_t room)
{
	char text[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	bool is_v6 = value.len > 0 && memchr(value.at, ':', value.len);
	unsigned bits = is_v6 ? part->v6 : part->v4;

	if (!is_address(value))
		return 0;
	memcpy(text, value.at, value.len);
	text[value.len] = '\0';
	inet_pton(is_v6 ? AF_INET6 : AF_INET, text, bytes);
	mask(bytes, is_v6 ? 16 : 4, bits);
	inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, text, sizeof(text));
	return (size_t)snprintf(out, room, "%s/%u", text, bits);
}

/* A colon is in what is not its own key: IPv6, and an address with its port. */
static bool
is_own_key(const struct key_part *part, struct slice value)
{
	return part->v4 == 0 && (!part->is_client || !memchr(value.at, ':', value.len));
}

static size_t
write_text(struct slice text, char *out, size_t room)
{
	if (text.len <= room)
		memcpy(out, text.at, text.len);
	return text.len;
}

/* What is no address is its own key: a client may be a name. */
static size_t
write_client(struct slice value, char *out, size_t room)
{
	static const struct rl_http_trust nobody;
	const struct rl_http_value peer = {value.at, value.len};
	struct rl_http_client client;

	if (rl_http_client(&nobody, peer, NULL, 0, &client) < 0)
		return write_text(value, out, room);
	return write_text((struct slice){client.address, strlen(client.address)}, out, room);
}

static size_t
write_part(const struct key_part *part, struct slice value, char *out, size_t room)
{
	if (part->v4 > 0)
		return write_network(part, value, out, room);
	return is_own_key(part, value) ? write_text(value, out, room)
	                               : write_client(value, out, room);
}

static enum line_kind
mix(struct key_spec *spec, const struct line_values *values, struct slice *key, const char **wrong)
{
	size_t used = 0;

	for (size_t i = 0; i < spec->count; i++) {
		size_t len;

		if (i > 0 && used < sizeof(spec->bytes))
			spec->bytes[used++] = '|';
		len = write_part(&spec->part[i], values->value[spec->part[i].want],
		                 spec->bytes + used, sizeof(spec->bytes) - used);
		*wrong = len == 0 ? "no IP address, of which the network would be the key"
		                  : TOO_LONG;
		if (len == 0 || len > sizeof(spec->bytes) - used)
			return LINE_WRONG;
		used += len;
	}
	*key = (struct slice){spec->bytes, used};
	return LINE_EVENT;
}

enum line_kind
key_of(struct key_spec *spec, const struct line_values *values, struct slice *key,
       const char **wrong)
{
	for (size_t i = 0; i < spec->count; i++) {
		struct slice value = values->value[spec->part[i].want];

		if (value.len == 0 || slice_is(value, "-"))
			return LINE_OTHER;
	}
	*key = values->value[spec->part[0].want];
	if (spec->count > 1 || !is_own_key(&spec->part[0], *key))
		return mix(spec, values, key, wrong);
	*wrong = TOO_LONG;
	return key->len <= RL_KEY_MAX ? LINE_EVENT : LINE_WRONG;
}

void
key_free(struct key_spec *spec)
{
	free(spec->text);
}
