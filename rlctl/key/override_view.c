/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/override_view.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "key/active_bans.h"

#define PREFIX_MAX 63 /* bytes in a prefix, see rl_match */

/* Ask for exactly this pattern; the library has no other question. */
static void
try_pattern(struct rl *rl, int rule, enum rl_match match, const void *text, size_t len,
            struct overrides *found)
{
	struct rl_pattern pattern = {match, text, len};
	struct override *item = &found->items[found->count];
	struct rl_override override;

	if (found->count == OVERRIDES_MAX || rl_override_info(rl, rule, &pattern, &override) != 1)
		return;
	*item = (struct override){.match = match, .len = len, .kind = override.kind};
	memcpy(item->text, text, len);
	memcpy(item->capacity, override.capacity, sizeof(item->capacity));
	found->count++;
}

static void
clear_bits(unsigned char *address, size_t size, unsigned bits)
{
	for (unsigned bit = bits; bit < size * 8; bit++)
		address[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
}

static void
try_networks(struct rl *rl, int rule, int family, unsigned char *address, struct overrides *found)
{
	size_t size = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	char text[INET6_ADDRSTRLEN + sizeof("/128")];

	for (int bits = (int)size * 8; bits >= 0; bits--) {
		clear_bits(address, size, (unsigned)bits);
		inet_ntop(family, address, text, INET6_ADDRSTRLEN);
		sprintf(text + strlen(text), "/%d", bits);
		try_pattern(rl, rule, RL_MATCH_NETWORK, text, strlen(text), found);
	}
}

static void
try_address(struct rl *rl, int rule, const struct key_view *key, struct overrides *found)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "";
	unsigned char address[sizeof(struct in6_addr)];

	if (key->len >= sizeof(text))
		return;
	memcpy(text, key->bytes, key->len);
	if (inet_pton(AF_INET, text, address) == 1)
		try_networks(rl, rule, AF_INET, address, found);
	else if (inet_pton(AF_INET6, text, address) != 1)
		return;
	else if (memcmp(address, mapped, sizeof(mapped)) == 0)
		try_networks(rl, rule, AF_INET, address + sizeof(mapped), found);
	else
		try_networks(rl, rule, AF_INET6, address, found);
}

void
overrides_find(struct rl *rl, int rule, const struct key_view *key, struct overrides *found)
{
	size_t longest = key->len < PREFIX_MAX ? key->len : PREFIX_MAX;

	found->count = 0;
	if (rl_override_count(rl, rule) == 0)
		return;
	try_pattern(rl, rule, RL_MATCH_KEY, key->bytes, key->len, found);
	try_address(rl, rule, key, found);
	for (size_t len = longest; len > 0; len--)
		try_pattern(rl, rule, RL_MATCH_PREFIX, key->bytes, len, found);
}

static const char *
kind_name(enum rl_override_kind kind)
{
	switch (kind) {
	case RL_OVERRIDE_CAPACITY:
		return "capacity";
	case RL_OVERRIDE_BANNED:
		return "banned";
	case RL_OVERRIDE_UNLIMITED:
		break;
	}
	return "unlimited";
}

static struct key_view
view_of(const struct override *override)
{
	return (struct key_view){override->text, override->len, override->len, 0};
}

void
override_print(FILE *out, const struct override *override, unsigned limits)
{
	struct key_view key = view_of(override);

	fprintf(out, "override of %s ", match_name(override->match));
	pattern_print(out, override->match, &key);
	fprintf(out, ": %s", kind_name(override->kind));
	for (unsigned i = 0; i < limits && override->kind == RL_OVERRIDE_CAPACITY; i++) {
		fputs(i > 0 ? ", " : " ", out);
		if (override->capacity[i] > 0)
			fprintf(out, "%" PRIu32, override->capacity[i]);
		else
			fputs("as the rule's", out);
	}
	putc('\n', out);
}

json_t *
override_json(const struct override *override, unsigned limits)
{
	json_t *object = need(json_object()), *capacity;
	struct key_view key = view_of(override);

	json_put(object, "match", json_text(match_name(override->match)));
	json_put_key(object, &key);
	json_put(object, "kind", json_text(kind_name(override->kind)));
	if (override->kind != RL_OVERRIDE_CAPACITY)
		return object;
	capacity = need(json_array());
	json_put(object, "capacity", capacity);
	for (unsigned i = 0; i < limits; i++)
		json_push(capacity, json_count(override->capacity[i]));
	return object;
}
