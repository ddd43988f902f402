/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms are read from one bank of the configuration (see enum rl_bank), and hold if `generation`
 * is the same before and after: the bank of generation g is written again only when g + 1 is in
 * force already.
 */
#include "rule/terms.h"

#include <errno.h>
#include <string.h>

#include "algorithm/log.h"

#define TRIES 16
#define TRY_STEPS 64 /* a rule's references, and its limits' quota */

int
rl_terms_set_capacity(const struct rl_limiter *l, uint32_t capacity, struct rl_quota *q)
{
	if (l->algorithm == RL_SLIDING_LOG && capacity > rl_log_capacity(l->ring_entries))
		return RL_ERING;
	q->capacity = capacity;
	if (l->algorithm == RL_TOKEN_BUCKET)
		q->burst = capacity < RL_CAPACITY_MAX ? capacity : RL_CAPACITY_MAX - 1;
	return 0;
}

/* Does a limit with prefixes count the key? An empty one is no address. 1, 0 or RL_EADDRESS. */
static int
counts(const struct rl_compiled *limit, const void *key, size_t key_len, struct rl_terms *t)
{
	if (key_len == 0)
		return 1;
	if (!t->has_address)
		t->has_address = rl_address_parse(key, key_len, &t->address);
	if (!t->has_address)
		return RL_EADDRESS;
	return rl_compiled_prefix(limit, &t->address) > 0;
}

/* -EAGAIN: a row that is referred to is another's by now, or its limit has started anew. */
static int
load_limits(struct rl *rl, int rule, struct rl_u128 refs, enum rl_bank bank, const void *key,
            size_t key_len, struct rl_terms *t)
{
	int id;

	t->count = 0;
	for (unsigned i = 0; (id = rl_refs_take(&rl->segment, &refs)) >= 0; i++) {
		const struct rl_compiled *limit = rl_handle_limit(rl, id);
		int counted = 1;

		if (!limit)
			return rl_handle_no_limit(rl, id);
		if (limit->rule != rl_rule_row(rule))
			return -EAGAIN;
		if (limit->has_prefix)
			counted = counts(limit, key, key_len, t);
		if (counted < 0)
			return counted;
		if (counted == 0)
			continue;
		t->limit[t->count] = limit;
		t->index[t->count] = i;
		rl_rules_quota(limit->row, bank, &t->quota[t->count]);
		if (!rl_compiled_holds(limit)) /* last: see the head of rows.c */
			return -EAGAIN;
		t->count++;
	}
	return 0;
}

static void
apply(const struct rl_override_found *found, struct rl_terms *t)
{
	t->has_override = true;
	t->kind = found->kind;
	t->keeps_first = found->kind != RL_OVERRIDE_CAPACITY || found->capacity[0] > 0;
	if (found->kind != RL_OVERRIDE_CAPACITY)
		return;
	for (unsigned i = 0; i < t->count; i++) {
		uint32_t capacity = found->capacity[t->index[i]];
		if (capacity > 0) /* one beyond the ring was refused by who configured */
			rl_terms_set_capacity(&t->limit[i]->limiter, capacity, &t->quota[i]);
	}
}

static void
load_override(const struct rl_segment *s, int rule, unsigned bank, const void *key, size_t key_len,
              struct rl_budget *budget, struct rl_terms *t)
{
	struct rl_pattern_iter it = {.key = key, .key_len = key_len};
	struct rl_override_found found;
	struct rl_normal_pattern normal;

	it.left = rl_lengths_load(&rl_rules_at(s, rule)->overrides[bank]);
	if (!t->has_address && rl_lengths_have_networks(&it.left))
		t->has_address = rl_address_parse(key, key_len, &t->address);
	it.address = t->has_address ? &t->address : NULL;
	while (budget->left > 0 && rl_pattern_next(&it, &normal)) {
		struct rl_hash hash = rl_normal_pattern_hash(s, rl_pattern_scope(rule), &normal);
		if (rl_override_find(s, bank, hash, budget, &found)) {
			apply(&found, t);
			return;
		}
	}
}

/*
 * Last: was the row the rule's while it was read? Else the rule is as if removed; 0, or -EINVAL if
 * there never was such a one.
 */
static int
settle(const struct rl_segment *s, int rule, struct rl_terms *t)
{
	uint64_t flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);

	if (rl_rule_has_flags(rule, flags))
		return 0;
	t->count = 0;
	t->has_override = false;
	t->is_removed = true;
	return rl_rule_incarnation(rule) > rl_row_incarnation(flags) ? -EINVAL : 0;
}

/*
 * As of generation `g`, if that is still in force at the end. A network is no text: what is
 * configured for beginnings of a key does not speak of it.
 */
static int
load_at(struct rl *rl, int rule, uint64_t g, const struct rl_address *network, const void *key,
        size_t key_len, struct rl_budget *budget, struct rl_terms *t)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_u128 refs;
	enum rl_bank bank;
	int error;

	bank = rl_rules_in_force(s, rule, g, &refs);
	t->is_removed = bank == RL_BANKS;
	t->has_override = t->keeps_first = false;
	t->has_address = network != NULL;
	if (network)
		t->address = *network;
	error = load_limits(rl, rule, refs, bank, key, key_len, t);
	if (error == 0 && bank < RL_BANK_APP && key_len > 0 &&
	    (rl_atomic_load(&rl_rules_at(s, rule)->flags) & (uint64_t)RL_ROW_OVERRIDES << bank))
		load_override(s, rule, bank, key, network ? 0 : key_len, budget, t);
	return error < 0 ? error : settle(s, rule, t);
}

static int
load(struct rl *rl, int rule, const struct rl_address *network, const void *key, size_t key_len,
     struct rl_budget *budget, struct rl_terms *t)
{
	const uint64_t *generation = &rl->segment.header->generation;

	while (rl_budget_take(budget, TRY_STEPS)) {
		uint64_t g = rl_atomic_load(generation);
		int error = load_at(rl, rule, g, network, key, key_len, budget, t);

		rl_atomic_fence();
		if (rl_atomic_load(generation) == g && budget->left > 0 && error != -EAGAIN)
			return error;
	}
	return RL_ECOST;
}

int
rl_terms_load(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_budget *budget,
              struct rl_terms *t)
{
	return load(rl, rule, NULL, key, key_len, budget, t);
}

int
rl_terms_load_network(struct rl *rl, int rule, const struct rl_address *network,
                      struct rl_budget *budget, struct rl_terms *t)
{
	return load(rl, rule, network, "", 1, budget, t);
}

bool
rl_terms_of_limit(const struct rl_segment *s, int limit, struct rl_quota *quota, unsigned *index)
{
	const uint64_t *generation = &s->header->generation;
	int row = rl_rules_of_limit(s, limit);
	struct rl_refs refs;

	for (int tries = 0; row >= 0 && tries < TRIES; tries++) {
		uint64_t g = rl_atomic_load(generation);
		int rule = rl_rules_handle(s, row);
		enum rl_bank bank = rl_rules_list(s, rule, g, &refs);

		for (*index = 0; *index < refs.count && refs.limit[*index] != limit; ++*index)
			;
		if (*index < refs.count)
			rl_rules_quota(&s->limits[limit], bank, quota);
		rl_atomic_fence();
		if (rl_atomic_load(generation) == g && rl_rules_has(s, rule))
			return *index < refs.count;
	}
	*index = 0; /* in force, for all one can tell while it changes all the time */
	if (row >= 0)
		rl_rules_quota(&s->limits[limit], RL_BANK_APP, quota);
	return row >= 0;
}

/* Only the limits of that prefix. */
static void
keep_prefix(struct rl_terms *t, unsigned prefix)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < t->count; i++) {
		const struct rl_compiled *limit = t->limit[i];
		if (rl_compiled_prefix(limit, &t->address) != prefix)
			continue;
		t->limit[kept] = limit;

		t->index[kept] = t->index[i];
		t->quota[kept] = t->quota[i];
		kept++;
	}
	t->count = kept;
}

/* The terms of a network as the limits of a rule with prefixes count it. */
static int
load_network(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_budget *budget,
             struct rl_terms *t)
{
	struct rl_address network;
	unsigned prefix;
	int error;

	if (!memchr(key, '/', key_len) || !rl_network_parse(key, key_len, &network, &prefix))
		return RL_EADDRESS;
	network.known = prefix;
	error = rl_terms_load_network(rl, rule, &network, budget, t);
	if (error == 0)
		keep_prefix(t, prefix);
	return error;
}

int
rl_terms_of_name(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_budget *budget,
                 struct rl_terms *t)
{
	int error;

	if (!rl_handle_has(rl, rule) || !key || key_len == 0 || key_len > RL_KEY_MAX)
		return -EINVAL;
	error = rl_terms_load(rl, rule, key, key_len, budget, t);
	return error == RL_EADDRESS ? load_network(rl, rule, key, key_len, budget, t) : error;
}

bool
rl_terms_have_overrides(const struct rl_segment *s, int rule)
{
	uint64_t flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);

	return (flags & (RL_ROW_OVERRIDES | RL_ROW_OVERRIDES << 1)) != 0;
}

bool
rl_terms_of_record(struct rl *rl, const struct rl_record_copy *copy,
                   const struct rl_compiled *limit, struct rl_budget *budget, struct rl_terms *t,
                   struct rl_quota *quota)
{
	if (copy->key_kept < copy->key_len ||
	    rl_terms_of_name(rl, rl_rules_handle(&rl->segment, limit->rule), copy->bytes,
	                     copy->key_len, budget, t) < 0)
		return false;
	for (unsigned i = 0; i < t->count; i++) {
		if (t->limit[i] == limit) {
			*quota = t->quota[i];
			return true;
		}
	}
	return false;
}

bool
rl_terms_quota_of_record(struct rl *rl, const struct rl_record_copy *copy,
                         const struct rl_compiled *limit, struct rl_budget *budget,
                         struct rl_quota *quota)
{
	struct rl_terms t;

	return rl_terms_have_overrides(&rl->segment, limit->rule) &&
	       rl_terms_of_record(rl, copy, limit, budget, &t, quota);
}
