/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TERMS_H
#define RL_TERMS_H

/* The terms a key is limited on: its rule's limits, and what the configuration says of the key. */

#include "rule/handle.h"
#include "rule/override.h"
#include "segment/record.h"

struct rl_terms {
	unsigned count; /* 0: the rule has no limits, or none of them counts this key */
	bool is_removed;
	const struct rl_compiled *limit[RL_LIMITS_MAX];

	unsigned index[RL_LIMITS_MAX]; /* of the limit in its rule */
	struct rl_quota quota[RL_LIMITS_MAX];
	bool has_override;
	enum rl_override_kind kind; /* with an override */
	bool keeps_first;           /* an override speaks of the first limit: no tier does */
	bool has_address;
	struct rl_address address; /* the key's */
};

/*
 * The terms of `key` under a rule that there is, or was, of one generation of the configuration.
 * 0, or -EINVAL: there never was, RL_EADDRESS, -ENOMEM, RL_ECOST. A key of no length gets the
 * rule's limits.
 */
int rl_terms_load(struct rl *rl, int rule, const void *key, size_t key_len,
                  struct rl_budget *budget, struct rl_terms *terms);

/* The same of a network, `network->known` bits of it, under a rule with prefixes. */
int rl_terms_load_network(struct rl *rl, int rule, const struct rl_address *network,
                          struct rl_budget *budget, struct rl_terms *terms);

/*
 * The terms of a key; under a rule with prefixes, the key may be a network, and then they are of the
 * limits of that prefix, and of what is configured for all of the network. 0, or -EINVAL, RL_EADDRESS,
 * -ENOMEM, RL_ECOST.
 */
int rl_terms_of_name(struct rl *rl, int rule, const void *key, size_t key_len,
                     struct rl_budget *budget, struct rl_terms *terms);

/* Has the rule any overrides, in force or about to be? */
bool rl_terms_have_overrides(const struct rl_segment *s, int rule);

/* The terms of the key of that name, and what they say of a limit; false if that is not known. */
bool rl_terms_of_record(struct rl *rl, const struct rl_record_copy *copy,
                        const struct rl_compiled *limit, struct rl_budget *budget,
                        struct rl_terms *terms, struct rl_quota *quota);

/* What a limit admits the key of that name, where its rule has overrides; else false. */
bool rl_terms_quota_of_record(struct rl *rl, const struct rl_record_copy *copy,
                              const struct rl_compiled *limit, struct rl_budget *budget,
                              struct rl_quota *quota);

/* May a ban or an exemption hold for a key of the rule, or any that has its row now? */
static inline bool
rl_terms_have_bans(const struct rl_segment *s, int rule)
{
	return (rl_atomic_load(&rl_rules_at(s, rule)->flags) & RL_ROW_BANS) != 0 ||
	       rl_lengths_have(&s->header->any_bans);
}

/* A capacity in place of the limit's own; a token bucket's burst goes with it. 0 or RL_ERING. */
int rl_terms_set_capacity(const struct rl_limiter *limiter, uint32_t capacity,
                          struct rl_quota *quota);

/* What a limit admits now, and its place in its rule; false if it is in force no more. */
bool rl_terms_of_limit(const struct rl_segment *s, int limit, struct rl_quota *quota,
                       unsigned *index);

#endif
