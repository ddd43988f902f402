/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_KEY_H
#define RL_ADAPTER_KEY_H

/* A key as rl takes it: the bytes as they are, or a text for what is too long. For all adapters. */

#include <rl_counter.h>

struct key {
	const void *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};

/* `bytes` stay the caller's, and are there as long as the key. */
static inline const struct key *
key_of(struct key *k, const void *bytes, size_t len)
{
	k->bytes = bytes;
	k->len = len;
	if (len > RL_KEY_MAX) {
		k->len = rl_key_digest(bytes, len, k->digest);
		k->bytes = k->digest;
	}
	return k;
}

/* One step with the counter of a key, see rl_counter_apply(). */
static inline int
key_count(struct rl *rl, int space, enum rl_counter_op op, const struct key *k, int64_t amount,
          uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	const struct rl_counter_item item = {.space = space,
	                                     .key = k->bytes,
	                                     .key_len = k->len,
	                                     .amount = amount,
	                                     .lifetime_ns = lifetime_ns,
	                                     .now_ns = now_ns};

	return rl_counter_apply(rl, op, &item, count);
}

#endif
