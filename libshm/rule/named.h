/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NAMED_H
#define RL_NAMED_H

/*
 * What the cluster calls a key: 128 bits, keyed with the cluster's secret, over the rule's name,
 * what the limit is (shape, hardness, prefixes), and the key's bytes. They are the same on every
 * host that has the secret and the rule, and are all of a key that leaves a host. A record has them
 * beside the name for people, which may be cut.
 */

#include "rule/rules.h"

/*
 * Write a LIVE slot's record: its name, and under a cluster's limit the hash, if there is a secret.
 */
void rl_named_write(const struct rl_segment *s, const struct rl_compiled *limit,
                    struct rl_slot slot, uint64_t key_hash, const void *key, size_t key_len);

/* See to it that the record has its hash: one may be torn, or of a time before the secret. */
void rl_named_hash(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
                   uint64_t key_hash, const void *key, size_t key_len);

/* Read it. False: it is not there. */
bool rl_named_read(const struct rl_segment *s, struct rl_slot slot, uint64_t hash[2]);

/* Keep what the secret makes of itself, for these hashes. */
void rl_named_secret(const struct rl_segment *s, const unsigned char secret[32]);

/* Is there one? */
bool rl_named_has_secret(const struct rl_segment *s);

#endif
