/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/pattern.h"

#include <errno.h>
#include <string.h>

#include "rl_admin.h"

#define DOMAIN \
	(UINT64_C(1) << 50) /* with a kind of pattern apart from the hashes of names and notes */

static int
normal_network(const struct rl_pattern *p, struct rl_normal_pattern *n)
{
	struct rl_address a;

	if (!rl_network_parse(p->key, p->key_len, &a, &n->length))
		return RL_EADDRESS;
	n->family = a.bits;
	n->bytes = n->network;
	n->len = rl_network_key(&a, n->length, n->network);
	return 0;
}

int
rl_normal_pattern_of(const struct rl_pattern *p, struct rl_normal_pattern *n)
{
	*n = (struct rl_normal_pattern){.match = p->match, .bytes = p->key, .len = p->key_len};
	if (!p->key || p->key_len == 0 || p->key_len > RL_KEY_MAX)
		return -EINVAL;
	switch (p->match) {
	case RL_MATCH_KEY:
		return 0;
	case RL_MATCH_PREFIX:
		n->length = (unsigned)p->key_len;
		return p->key_len <= RL_PREFIX_MAX ? 0 : -EINVAL;
	case RL_MATCH_NETWORK:
		return normal_network(p, n);
	}
	return -EINVAL;
}

struct rl_hash
rl_normal_pattern_hash(const struct rl_segment *s, const struct rl_normal_pattern *n)
{
	if (n->match == RL_MATCH_KEY)
		return rl_hash_both(rl_sip_of_key(s->key_start, n->bytes, n->len));
	return rl_hash_with(s->key, DOMAIN | (uint64_t)n->match << 8 | n->length, n->bytes, n->len);
}

/* The bit of a pattern in its word. */
static uint64_t *
word_of(struct rl_lengths *l, const struct rl_normal_pattern *n, uint64_t *bit)
{
	bool is_v6 = n->match == RL_MATCH_NETWORK && n->family == 128;

	*bit = UINT64_C(1) << n->length % 64;
	if (is_v6 && n->length == 128)
		*bit = RL_LENGTHS_V6_HOST;
	else if (is_v6)
		return &l->v6[n->length / 64];
	return n->match == RL_MATCH_NETWORK ? &l->v4 : &l->text;
}

int
rl_lengths_add(struct rl_lengths *l, const struct rl_normal_pattern *n)
{
	uint64_t bit, *word = word_of(l, n, &bit);

	return rl_atomic_set_bits(word, UINT64_MAX, bit) ? 0 : -EBUSY;
}

void
rl_lengths_clear(struct rl_lengths *l)
{
	rl_atomic_store(&l->text, 0);
	rl_atomic_store(&l->v4, 0);
	rl_atomic_store(&l->v6[0], 0);
	rl_atomic_store(&l->v6[1], 0);
}

struct rl_lengths
rl_lengths_load(const struct rl_lengths *l)
{
	return (struct rl_lengths){
		.text = rl_atomic_load_relaxed(&l->text),
		.v4 = rl_atomic_load_relaxed(&l->v4),
		.v6 = {rl_atomic_load_relaxed(&l->v6[0]), rl_atomic_load_relaxed(&l->v6[1])},
	};
}

/* The highest set bit of a word, taken out of it; -1 for none. */
static int
take_highest(uint64_t *word)
{
	int bit;

	if (*word == 0)
		return -1;
	bit = 63 - __builtin_clzll(*word);
	*word &= ~(UINT64_C(1) << bit);
	return bit;
}

/* The longest prefix of the address's family that is left, or -1. */
static int
next_prefix(struct rl_lengths *left, unsigned family)
{
	const uint64_t host = RL_LENGTHS_V6_HOST;
	int bits;

	if (family == 32) {
		left->v4 &= (UINT64_C(1) << 33) - 1;
		return take_highest(&left->v4);
	}
	if (left->v4 & host) {
		left->v4 &= ~host;
		return 128;
	}
	bits = take_highest(&left->v6[1]);
	return bits >= 0 ? 64 + bits : take_highest(&left->v6[0]);
}

static bool
next_network(struct rl_pattern_iter *it, struct rl_normal_pattern *n)
{
	int prefix = -1;

	if (it->address)
		do
			prefix = next_prefix(&it->left, it->address->bits);
		while (prefix > (int)it->address->known);
	if (prefix < 0)
		return false;
	*n = (struct rl_normal_pattern){
		.match = RL_MATCH_NETWORK, .family = it->address->bits, .length = (unsigned)prefix};
	n->bytes = n->network;
	n->len = rl_network_key(it->address, n->length, n->network);
	return true;
}

bool
rl_pattern_next(struct rl_pattern_iter *it, struct rl_normal_pattern *n)
{
	int length;

	if (it->left.text & 1) {
		it->left.text &= ~UINT64_C(1);
		*n = (struct rl_normal_pattern){
			.match = RL_MATCH_KEY, .bytes = it->key, .len = it->key_len};
		return true;
	}
	if (next_network(it, n))
		return true;
	if (it->key_len < RL_PREFIX_MAX)
		it->left.text &= (UINT64_C(2) << it->key_len) - 1;
	length = take_highest(&it->left.text);
	if (length < 0)
		return false;
	*n = (struct rl_normal_pattern){.match = RL_MATCH_PREFIX,
	                                .length = (unsigned)length,
	                                .bytes = it->key,
	                                .len = (size_t)length};
	return true;
}

struct rl_pattern
rl_pattern_of(const char *text, size_t len)
{
	struct rl_pattern p = {.match = RL_MATCH_KEY, .key = text, .key_len = len};
	struct rl_address address;
	unsigned prefix;

	if (len > 1 && text[len - 1] == '*') {
		p.match = RL_MATCH_PREFIX;
		p.key_len--;
	} else if (memchr(text, '/', len) && rl_network_parse(text, len, &address, &prefix)) {
		p.match = RL_MATCH_NETWORK;
	}
	return p;
}

int
rl_pattern_matches(const struct rl_pattern *pattern, const void *key, size_t key_len)
{
	struct rl_address network, address;
	struct rl_normal_pattern n;
	int error = rl_normal_pattern_of(pattern, &n);
	unsigned prefix;

	if (error < 0 || (!key && key_len > 0))
		return -EINVAL;
	if (n.match == RL_MATCH_NETWORK)
		return rl_network_parse(pattern->key, pattern->key_len, &network, &prefix) &&
		       rl_address_parse(key, key_len, &address) &&
		       rl_network_has(&network, prefix, &address);
	if (n.match == RL_MATCH_KEY && key_len != n.len)
		return 0;
	return key_len >= n.len && memcmp(key, n.bytes, n.len) == 0;
}
