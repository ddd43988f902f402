/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Networks lie in each other or apart. In the order of their first addresses, the wider one first,
 * each comes behind those that it lies in: so one pass with a stack cuts them into spans.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "nft.h"

#define MAPPED_BITS 96 /* of ::ffff:0:0/96, where IPv4 lies in IPv6 */
#define NOWHERE SIZE_MAX

struct block {
	address first, last;
	uint64_t until_ns; /* with that of the blocks around */
	bool is_exempt;
	size_t around; /* the block that it lies in */
};

struct blocks {
	struct block *items;
	size_t count, room;
};

struct reading {
	struct blocks of[FAMILIES];
	const int *rules;
	size_t rule_count;
	unsigned client_v6;
	uint64_t shortest_ns; /* what ends before is left out */
	uint64_t too_wide;
	int error;
};

/* Room for one more, of `size` bytes; NULL: there is no memory. */
static void *
grown(void *items, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return items;
	*room = *room > 0 ? *room * 2 : 64;
	return reallocarray(items, *room, size);
}

static address
address_of(const unsigned char *bytes, size_t count)
{
	address out = 0;

	for (size_t i = 0; i < count; i++)
		out = out << 8 | bytes[i];
	return out;
}

static void
add_block(struct reading *reading, enum family family, address some, unsigned bits,
          uint64_t until_ns, bool is_exempt)
{
	struct blocks *blocks = &reading->of[family];
	unsigned free_bits = (family == V4 ? 32 : 128) - bits;
	address hosts = free_bits == 128 ? ~(address)0 : ((address)1 << free_bits) - 1;
	void *items = grown(blocks->items, blocks->count, &blocks->room, sizeof(*blocks->items));

	if (!items) {
		reading->error = -ENOMEM;
		return;
	}
	blocks->items = items;
	blocks->items[blocks->count++] = (struct block){.first = some & ~hosts,
	                                                .last = some | hosts,
	                                                .until_ns = until_ns,
	                                                .is_exempt = is_exempt};
}

/* "192.0.2.0/24", "2001:db8::1"; an address of IPv4 within IPv6 is one of IPv4. */
static bool
parse(const struct rl_pattern *pattern, enum family *family, address *out, unsigned *bits)
{
	char text[INET6_ADDRSTRLEN + 5];
	unsigned char bytes[16];
	unsigned most;
	char *slash, *end;

	if (pattern->match == RL_MATCH_PREFIX || !pattern->key || pattern->key_len >= sizeof(text))
		return false;
	memcpy(text, pattern->key, pattern->key_len);
	text[pattern->key_len] = '\0';
	slash = strchr(text, '/');
	if (slash)
		*slash = '\0';
	*family = strchr(text, ':') ? V6 : V4;
	if (inet_pton(*family == V6 ? AF_INET6 : AF_INET, text, bytes) != 1)
		return false;
	most = *family == V6 ? 128 : 32;
	*bits = most;
	if (slash) {
		*bits = (unsigned)strtoul(slash + 1, &end, 10);
		if (*bits > most || *end || end == slash + 1)
			return false;
	}
	*out = address_of(bytes, most / 8);
	if (*family == V6 && *bits >= MAPPED_BITS && *out >> 32 == 0xffff) {
		*family = V4;
		*out &= UINT32_MAX;
		*bits -= MAPPED_BITS;
	}
	return true;
}

/* The first address of a client's network is the client's key, and so the ban is of all of it. */
static unsigned
client_bits(const struct reading *reading, const struct rl_pattern *pattern, address some,
            unsigned bits)
{
	address below = reading->client_v6 < 128 ? ~(address)0 >> reading->client_v6 : 0;

	return pattern->match == RL_MATCH_KEY && (some & below) == 0 ? reading->client_v6 : bits;
}

static bool
is_wanted(const struct reading *reading, const struct rl_ban_info *ban)
{
	if (ban->is_exemption || ban->rule == RL_ANY_RULE)
		return true;
	for (size_t i = 0; i < reading->rule_count; i++)
		if (reading->rules[i] == ban->rule)
			return true;
	return false;
}

static int
see_ban(const struct rl_ban_info *ban, void *arg)
{
	struct reading *reading = arg;
	enum family family;
	address some;
	unsigned bits;

	if (!is_wanted(reading, ban) || ban->pattern.key_len != ban->key_len ||
	    !parse(&ban->pattern, &family, &some, &bits))
		return 0;
	if (family == V6)
		bits = client_bits(reading, &ban->pattern, some, bits);
	if (!ban->is_exemption && bits < (family == V4 ? 8 : 16))
		reading->too_wide++;
	else if (ban->is_exemption || ban->until_ns >= reading->shortest_ns)
		add_block(reading, family, some, bits, ban->until_ns, ban->is_exemption != 0);
	return reading->error;
}

static void
exempt_host(struct reading *reading)
{
	struct ifaddrs *all;

	add_block(reading, V4, (address)127 << 24, 8, RL_NEVER_NS, true);
	add_block(reading, V6, 1, 128, RL_NEVER_NS, true);
	if (getifaddrs(&all) < 0) {
		reading->error = -errno;
		return;
	}
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		const void *name = one->ifa_addr;

		if (name && one->ifa_addr->sa_family == AF_INET)
			add_block(reading, V4,
			          ntohl(((const struct sockaddr_in *)name)->sin_addr.s_addr), 32,
			          RL_NEVER_NS, true);
		else if (name && one->ifa_addr->sa_family == AF_INET6)
			add_block(reading, V6,
			          address_of(((const struct sockaddr_in6 *)name)->sin6_addr.s6_addr,
			                     16),
			          128, RL_NEVER_NS, true);
	}
	freeifaddrs(all);
}

static int
compare(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->last < b->last) - (a->last > b->last);
}

/* As `block` says; to the span before, if it ends there and then. */
static bool
add_span(struct spans *spans, address first, address last, const struct block *block)
{
	struct span *before = spans->count > 0 ? &spans->items[spans->count - 1] : NULL;
	void *items;

	if (block->is_exempt)
		return true;
	if (before && before->until_ns == block->until_ns && before->last + 1 == first) {
		before->last = last;
		return true;
	}
	items = grown(spans->items, spans->count, &spans->room, sizeof(*spans->items));
	if (!items)
		return false;
	spans->items = items;
	spans->items[spans->count++] = (struct span){first, last, block->until_ns};
	return true;
}

/* What a block has of those around it: an exemption of all of it, and the later end. */
static void
inherit(struct block *block, const struct block *around)
{
	block->is_exempt |= around->is_exempt;
	if (around->until_ns > block->until_ns)
		block->until_ns = around->until_ns;
}

static bool
cut(struct blocks *blocks, struct spans *spans)
{
	struct block *all = blocks->items;
	size_t open = NOWHERE; /* the innermost block that `next` lies in */
	address next = 0;      /* what is before it is done */

	qsort(all, blocks->count, sizeof(*all), compare);
	for (size_t i = 0; i <= blocks->count; i++) {
		bool is_end = i == blocks->count;

		for (; open != NOWHERE && (is_end || all[open].last < all[i].first);
		     open = all[open].around) {
			if (next <= all[open].last &&
			    !add_span(spans, next, all[open].last, &all[open]))
				return false;
			if (all[open].last == ~(address)0)
				return true; /* there is nothing behind it */
			next = all[open].last + 1;
		}
		if (is_end)
			break;
		if (open != NOWHERE) {
			if (next < all[i].first &&
			    !add_span(spans, next, all[i].first - 1, &all[open]))
				return false;
			inherit(&all[i], &all[open]);
		}
		all[i].around = open;
		open = i;
		next = all[i].first;
	}
	return true;
}

int
bans_read(struct rl *rl, const int *rules, size_t rule_count, unsigned client_v6, struct bans *bans)
{
	uint64_t now_ns = rl_now(rl);
	struct reading reading = {.rules = rules,
	                          .rule_count = rule_count,
	                          .client_v6 = client_v6,
	                          .shortest_ns = now_ns + SHORTEST_NS};
	struct bans found = {0};

	rl_bans_walk(rl, now_ns, see_ban, &reading);
	exempt_host(&reading);
	found.too_wide = reading.too_wide;
	for (int i = 0; i < FAMILIES; i++) {
		if (reading.error == 0 && !cut(&reading.of[i], &found.of[i]))
			reading.error = -ENOMEM;
		free(reading.of[i].items);
	}
	if (reading.error < 0) {
		bans_free(&found);
		return reading.error;
	}
	found.now_ns = rl_now(rl);
	bans_free(bans);
	*bans = found;
	return 0;
}

void
bans_free(struct bans *bans)
{
	for (int i = 0; i < FAMILIES; i++)
		free(bans->of[i].items);
	*bans = (struct bans){0};
}
