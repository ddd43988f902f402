/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/named.h"

#include <string.h>

#include "segment/record.h"
#include "shared/sha256.h"

#define DOMAIN "rl cluster 1"

/* What of an identity is the same on every host. */
#define IDENTITY_OF_ALL                                                                          \
	((UINT64_C(7) << RL_IDENTITY_TWIN_SHIFT) | RL_IDENTITY_V4_MASK << RL_IDENTITY_V4_SHIFT | \
	 RL_IDENTITY_V6_MASK << RL_IDENTITY_V6_SHIFT | RL_IDENTITY_HARD | RL_IDENTITY_REQUESTS)

static struct rl_hash_key
secret_of(const struct rl_segment *s)
{
	const uint64_t *key = s->header->cluster_key;

	return (struct rl_hash_key){
		.k0 = rl_atomic_load_relaxed(&key[0]),
		.k1 = rl_atomic_load_relaxed(&key[1]),
	};
}

bool
rl_named_has_secret(const struct rl_segment *s)
{
	struct rl_hash_key key = secret_of(s);

	return (key.k0 | key.k1) != 0;
}

void
rl_named_secret(const struct rl_segment *s, const unsigned char secret[32])
{
	unsigned char text[sizeof DOMAIN + 32], digest[RL_SHA256_BYTES];
	uint64_t key[2];

	memcpy(text, DOMAIN, sizeof DOMAIN);
	memcpy(text + sizeof DOMAIN, secret, 32);
	rl_sha256(text, sizeof text, digest);
	memcpy(key, digest, sizeof key);
	rl_atomic_store(&s->header->cluster_key[0], key[0] | 1); /* both zero is none */
	rl_atomic_store(&s->header->cluster_key[1], key[1]);
}

/* False: no secret is known yet. */
static bool
hash_of(const struct rl_segment *s, const struct rl_compiled *limit, const void *key,
        size_t key_len, uint64_t hash[2])
{
	const uint64_t *name = s->rows[limit->rule].name;
	struct rl_sip sip = rl_sip_start(secret_of(s));
	struct rl_hash all;

	if (!rl_named_has_secret(s))
		return false;
	for (unsigned i = 0; i < 8; i++)
		rl_sip_word(&sip, rl_atomic_load_relaxed(&name[i]), 2);
	rl_sip_word(&sip, limit->identity & IDENTITY_OF_ALL, 2);
	rl_sip_word(&sip, rl_atomic_load_relaxed(&limit->row->identity.hi), 2);
	all = rl_sip_finish(sip, key, key_len, 80, 2, 4);
	hash[0] = all.a;
	hash[1] = all.b;
	return true;
}

void
rl_named_write(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
               uint64_t key_hash, const void *key, size_t key_len)
{
	uint64_t hash[2];
	bool has_hash = limit->limiter.is_shared && hash_of(s, limit, key, key_len, hash);

	rl_record_write_hashed(s, slot, key_hash, key, key_len, has_hash ? hash : NULL);
}

bool
rl_named_read(const struct rl_segment *s, struct rl_slot slot, uint64_t hash[2])
{
	struct rl_record_copy copy;

	if (!rl_record_read(s, slot, &copy))
		return false;
	hash[0] = copy.hash[0];
	hash[1] = copy.hash[1];
	return (hash[0] | hash[1]) != 0;
}

void
rl_named_hash(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
              uint64_t key_hash, const void *key, size_t key_len)
{
	uint64_t hash[2];

	if (rl_named_has_secret(s) && !rl_named_read(s, slot, hash))
		rl_named_write(s, limit, slot, key_hash, key, key_len);
}
