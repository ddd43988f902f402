/* SPDX-License-Identifier: BSD-2-Clause */
#include "share/share.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	int is_v4;
	unsigned bits;
} widths[SHARE_WIDTHS] = {
	[SHARE_V4_24] = {1, 24},
	[SHARE_V4_16] = {1, 16},
	[SHARE_V6_48] = {0, 48},
	[SHARE_V6_32] = {0, 32},
};

/* A key that is an address, or a network of so many bits. */
struct address {
	unsigned char is_v4;
	unsigned char bytes[16];
	unsigned char bits;
};

struct sample {
	struct address address[SHARE_SLOTS];
	int rule[SHARE_SLOTS];
	size_t addresses, rules;
	uint64_t used;
};

static void
to_v4(struct address *address)
{
	address->is_v4 = 1;
	memmove(address->bytes, address->bytes + 12, 4);
	memset(address->bytes + 4, 0, 12);
}

static int
parse_address(const char *text, struct address *address)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

	*address = (struct address){0};
	if (inet_pton(AF_INET6, text, address->bytes) == 1) {
		if (memcmp(address->bytes, mapped, sizeof mapped) == 0)
			to_v4(address);
		return 1;
	}
	address->is_v4 = 1;
	return inet_pton(AF_INET, text, address->bytes) == 1;
}

/* "192.0.2.1", "2001:db8::/64". Any bytes may stand there. */
static int
parse(const unsigned char *key, size_t len, struct address *address)
{
	char text[INET6_ADDRSTRLEN + 4], *slash, *end;
	unsigned long bits, most;

	if (len >= sizeof text || memchr(key, '\0', len))
		return 0;
	memcpy(text, key, len);
	text[len] = '\0';
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	if (!parse_address(text, address))
		return 0;
	most = address->is_v4 ? 32 : 128;
	bits = slash ? strtoul(slash, &end, 10) : most;
	if (slash && (end == slash || *end != '\0' || bits > most))
		return 0;
	address->bits = (unsigned char)bits;
	return 1;
}

static void
add_key(const struct rl_prefilter *prefilter, struct sample *sample)
{
	unsigned char key[RL_KEY_MAX];
	size_t key_len, kept = rl_prefilter_key(prefilter, key, &key_len);

	if (kept > 0 && kept == key_len && parse(key, key_len, &sample->address[sample->addresses]))
		sample->addresses++;
}

/* All that is wanted is known before an entry is made; the first slot behind the sample ends it. */
static int
add(const struct rl_prefilter *prefilter, void *arg)
{
	struct sample *sample = arg;

	if (prefilter->slot >= SHARE_SLOTS || sample->used >= SHARE_SLOTS)
		return 1;
	sample->used++;
	if (prefilter->rule < 0)
		return 0;
	sample->rule[sample->rules++] = prefilter->rule;
	add_key(prefilter, sample);
	return 0;
}

static int
end(const struct rl_entry *entry, void *arg)
{
	(void)entry;
	(void)arg;
	return 1;
}

static int
compare_rules(const void *a, const void *b)
{
	int left = *(const int *)a, right = *(const int *)b;

	return (left > right) - (left < right);
}

static int
compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct address, bits));
}

static int
count_rules(struct sample *sample, struct shares *out)
{
	qsort(sample->rule, sample->rules, sizeof *sample->rule, compare_rules);
	out->rules = calloc(sample->rules + 1, sizeof *out->rules);
	if (!out->rules)
		return -ENOMEM;
	for (size_t i = 0; i < sample->rules; i++) {
		if (i == 0 || sample->rule[i] != sample->rule[i - 1])
			out->rules[out->rule_count++].rule = sample->rule[i];
		out->rules[out->rule_count - 1].slots++;
	}
	return 0;
}

static void
name(const struct address *address, unsigned bits, char text[static SHARE_NETWORK_TEXT])
{
	unsigned char bytes[16] = {0};
	char plain[INET6_ADDRSTRLEN];

	memcpy(bytes, address->bytes, bits / 8); /* all widths are whole bytes */
	inet_ntop(address->is_v4 ? AF_INET : AF_INET6, bytes, plain, sizeof plain);
	snprintf(text, SHARE_NETWORK_TEXT, "%s/%u", plain, bits);
}

static int
is_of_width(const struct address *address, enum share_width width)
{
	return address->is_v4 == widths[width].is_v4 && address->bits >= widths[width].bits;
}

/* Addresses in order: those of a network stand together. */
static void
find_largest(const struct sample *sample, enum share_width width, struct share_network *out)
{
	unsigned bytes = widths[width].bits / 8;
	const struct address *first = NULL, *most = NULL;
	uint64_t keys = 0;

	*out = (struct share_network){.bits = widths[width].bits, .is_v4 = widths[width].is_v4};
	for (size_t i = 0; i < sample->addresses; i++) {
		const struct address *address = &sample->address[i];

		if (!is_of_width(address, width))
			continue;
		if (!first || memcmp(first->bytes, address->bytes, bytes) != 0) {
			first = address;
			keys = 0;
		}
		if (++keys > out->keys) {
			out->keys = keys;
			most = first;
		}
	}
	if (most)
		name(most, out->bits, out->text);
}

static int
judge(struct sample *sample, struct shares *out)
{
	out->used = sample->used;
	out->addresses = sample->addresses;
	qsort(sample->address, sample->addresses, sizeof *sample->address, compare_addresses);
	for (int width = 0; width < SHARE_WIDTHS; width++)
		find_largest(sample, (enum share_width)width, &out->networks[width]);
	return count_rules(sample, out);
}

int
shares_take(struct rl *rl, uint64_t now_ns, struct shares *shares)
{
	struct sample *sample = malloc(sizeof *sample);
	int error;

	*shares = (struct shares){0};
	if (!sample)
		return -ENOMEM;
	sample->addresses = sample->rules = 0;
	sample->used = 0;
	rl_walk(rl, now_ns, add, end, sample);
	error = judge(sample, shares);
	free(sample);
	return error;
}

void
shares_free(struct shares *shares)
{
	free(shares->rules);
	*shares = (struct shares){0};
}

unsigned
share_percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (unsigned)(part * 100 / whole) : 0;
}

static const struct share_network *
larger(const struct share_network *a, const struct share_network *b)
{
	return a->keys >= b->keys ? a : b;
}

const struct share_network *
shares_network(const struct shares *s, uint64_t whole, unsigned percent)
{
	const struct share_network *found =
		larger(&s->networks[SHARE_V4_24], &s->networks[SHARE_V6_48]);

	if (found->keys * 100 <= whole * percent)
		found = larger(&s->networks[SHARE_V4_16], &s->networks[SHARE_V6_32]);
	return found->keys * 100 > whole * percent ? found : NULL;
}

const struct share_rule *
shares_rule(const struct shares *s, unsigned percent)
{
	const struct share_rule *most = NULL;

	for (size_t i = 0; i < s->rule_count; i++)
		if (!most || s->rules[i].slots > most->slots)
			most = &s->rules[i];
	return most && most->slots * 100 > s->used * percent ? most : NULL;
}
