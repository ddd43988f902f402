/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PATTERN_H
#define RL_PATTERN_H

/*
 * Patterns of keys, found by hash: a pattern is looked for by hashing as much of the key as it
 * has, so what a lookup costs depends on how many lengths of patterns there are, not on how many
 * patterns. An rl_lengths says which.
 */

#include "rule/address.h"
#include "segment/segment.h"

#define RL_LENGTHS_V6_HOST (UINT64_C(1) << 63) /* /128, for which v6[] has no bit, in v4 */

/* Whose pattern: a rule's handle + 1, its incarnation with it; or 0 for RL_ANY_RULE. */
static inline uint64_t
rl_pattern_scope(int rule)
{
	return (uint64_t)(rule + 1);
}

/* A pattern, checked, as it is hashed: of a network the leading bits alone. */
struct rl_normal_pattern {
	enum rl_match match;
	unsigned family;   /* networks: 32 or 128 */
	unsigned length;   /* prefix bits, prefix bytes; 0 for a key */
	const void *bytes; /* what is hashed: the caller's, or `network` */
	size_t len;
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* 0; -EINVAL; or RL_EADDRESS for a network that is none. `normal` must stay where it is. */
int rl_normal_pattern_of(const struct rl_pattern *pattern, struct rl_normal_pattern *normal);

/*
 * Its hash, whosever it is: of a key both words of the key's own; of another one, those of a
 * message that no key is hashed as.
 */
struct rl_hash rl_normal_pattern_hash(const struct rl_segment *s,
                                      const struct rl_normal_pattern *normal);

#define RL_SCOPE_STEP UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio */

/*
 * What it is found by under a scope: hash.a says that it is it, and is never 0; hash.b where it is
 * kept. One pattern has another hash.a under each scope, for a scope has 31 bits, and stands
 * elsewhere. Two patterns have one hash.a if those of theirs differ by what their scopes do: that
 * is by luck, for who knows what they differ by knows the secret.
 */
static inline struct rl_hash
rl_pattern_hash_in(struct rl_hash hash, uint64_t scope)
{
	return (struct rl_hash){.a = (hash.a ^ scope << 1) | 1,
	                        .b = hash.b + scope * RL_SCOPE_STEP};
}

/* Both, for a rule's handle or RL_ANY_RULE. */
static inline struct rl_hash
rl_normal_pattern_hash_in(const struct rl_segment *s, int rule,
                          const struct rl_normal_pattern *normal)
{
	return rl_pattern_hash_in(rl_normal_pattern_hash(s, normal), rl_pattern_scope(rule));
}

/* Say in `lengths` that there is one such. Any process, any time. 0 or -EBUSY. */
int rl_lengths_add(struct rl_lengths *lengths, const struct rl_normal_pattern *normal);

/*
 * A key's patterns, the most special first: itself, the networks it lies in, its beginnings, each
 * longest first; of them only those that `lengths` has. `address` is NULL if it is none; of a
 * network, of which fewer bits are known, only the networks around all of it come.
 */
struct rl_pattern_iter {
	struct rl_lengths left;
	const void *key;
	size_t key_len;
	const struct rl_address *address;
};

struct rl_lengths rl_lengths_load(const struct rl_lengths *lengths);
void rl_lengths_clear(struct rl_lengths *lengths);

/* One of either. */
static inline struct rl_lengths
rl_lengths_both(struct rl_lengths a, struct rl_lengths b)
{
	return (struct rl_lengths){
		.text = a.text | b.text,
		.v4 = a.v4 | b.v4,
		.v6 = {a.v6[0] | b.v6[0], a.v6[1] | b.v6[1]},
	};
}

/* Of both. */
static inline struct rl_lengths
rl_lengths_common(struct rl_lengths a, struct rl_lengths b)
{
	return (struct rl_lengths){
		.text = a.text & b.text,
		.v4 = a.v4 & b.v4,
		.v6 = {a.v6[0] & b.v6[0], a.v6[1] & b.v6[1]},
	};
}

/* Are there any? */
static inline bool
rl_lengths_have(const struct rl_lengths *l)
{
	return (rl_atomic_load(&l->text) | rl_atomic_load(&l->v4) | rl_atomic_load(&l->v6[0]) |
	        rl_atomic_load(&l->v6[1])) != 0;
}

/* The next one, or false. */
bool rl_pattern_next(struct rl_pattern_iter *it, struct rl_normal_pattern *normal);

static inline bool
rl_lengths_have_networks(const struct rl_lengths *l)
{
	return (l->v4 | l->v6[0] | l->v6[1]) != 0;
}

#endif
