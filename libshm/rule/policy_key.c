/* SPDX-License-Identifier: BSD-2-Clause */
/* What a rule says of one key: the limits that count it, and its override. */
#include <errno.h>
#include <string.h>

#include "rule/ban.h"
#include "rule/policy.h"

/* Is the key an address? It is read once. */
static bool
is_address(const void *key, size_t key_len, struct rl_key_policy *k)
{
	if (!k->has_address)
		k->has_address = rl_address_parse(key, key_len, &k->address);
	return k->has_address;
}

/* Does a limit with prefixes count the key? An empty one is no address. 1, 0 or RL_EADDRESS. */
static int
counts(const struct rl_compiled *limit, const void *key, size_t key_len, struct rl_key_policy *k)
{
	if (key_len == 0)
		return 1;
	if (!is_address(key, key_len, k))
		return RL_EADDRESS;
	return rl_compiled_prefix(limit, &k->address) > 0;
}

/* Leave those limits that count the key. */
static int
take_limits(const void *key, size_t key_len, struct rl_key_policy *k)
{
	unsigned count = 0;

	if (!(k->rule.kinds & RL_POLICY_PREFIXES))
		return 0;
	for (unsigned i = 0; i < k->rule.count; i++) {
		int counted = counts(k->rule.limit[i].limit, key, key_len, k);
		if (counted < 0)
			return counted;
		if (counted > 0)
			k->rule.limit[count++] = k->rule.limit[i];
	}
	k->rule.count = count;
	return 0;
}

static void
apply(const struct rl_override_found *found, struct rl_key_policy *k)
{
	k->has_override = true;
	k->kind = found->kind;
	k->keeps_first = found->kind != RL_OVERRIDE_CAPACITY || found->capacity[0] > 0;
	if (found->kind != RL_OVERRIDE_CAPACITY)
		return;
	for (unsigned i = 0; i < k->rule.count; i++) {
		struct rl_policy_limit *l = &k->rule.limit[i];
		uint32_t capacity = found->capacity[l->index];
		if (capacity > 0) /* one beyond the ring was refused by who configured */
			rl_policy_set_capacity(&l->limit->limiter, capacity, &l->quota);
	}
}

static void
load_override(const struct rl_segment *s, const void *key, size_t key_len, struct rl_budget *budget,
              struct rl_key_policy *k)
{
	struct rl_pattern_iter it = {.left = k->rule.overrides, .key = key, .key_len = key_len};
	struct rl_override_found found;
	struct rl_normal_pattern normal;

	if (rl_lengths_have_networks(&it.left) && is_address(key, key_len, k))
		it.address = &k->address;
	while (budget->left > 0 && rl_pattern_next(&it, &normal)) {
		struct rl_hash hash = rl_normal_pattern_hash_in(s, k->rule.rule, &normal);
		if (rl_override_find(s, k->rule.bank, hash, budget, &found)) {
			apply(&found, k);
			return;
		}
	}
}

/* What is said of it for a time goes before all that the configuration says of it. */
static void
apply_timed(const struct rl_segment *s, const void *key, size_t key_len, uint64_t now_ns,
            struct rl_budget *budget, struct rl_key_policy *k)
{
	struct rl_hash hash = rl_hash_both(rl_sip_of_key(s->key_start, key, key_len));

	for (unsigned i = 0; i < k->rule.count; i++) {
		struct rl_policy_limit *l = &k->rule.limit[i];
		uint32_t capacity =
			rl_ban_override_of(s, k->rule.rule, l->index, hash, now_ns, budget);

		if (capacity == 0)
			continue;
		if (!k->has_override || k->kind != RL_OVERRIDE_CAPACITY)
			k->keeps_first = false;
		k->has_override = true;
		k->kind = RL_OVERRIDE_CAPACITY;
		k->keeps_first |= l->index == 0;
		rl_policy_set_capacity(&l->limit->limiter, capacity, &l->quota);
	}
}

/* Leave of the patterns that there are those lengths that the filters leave, mostly none. */
static void
narrow(const struct rl_segment *s, const void *key, size_t key_len, struct rl_budget *budget,
       struct rl_key_policy *k)
{
	struct rl_policy *p = &k->rule;
	const struct rl_address *address = NULL;
	struct rl_lengths left;

	if (!p->is_cached || !(p->has_bans || p->has_overrides) ||
	    !rl_budget_take(budget, rl_filter_steps(&p->ask)))
		return;
	if (rl_lengths_have_networks(&p->ask.lengths) && is_address(key, key_len, k))
		address = &k->address;
	if (!rl_filter_narrow(s, &p->ask, key, key_len, rl_filter_hash(s, &p->ask, key, key_len),
	                      address, &left) ||
	    rl_change_version(s) != p->version)
		return;
	p->bans = rl_lengths_common(p->bans, left);
	p->overrides = rl_lengths_common(p->overrides, left);
	p->has_bans &= rl_lengths_have(&p->bans);
}

/* A network is no text: what is configured for beginnings of a key does not speak of it. */
static int
load_key(struct rl *rl, const struct rl_address *network, const void *key, size_t key_len,
         uint64_t now_ns, struct rl_budget *budget, struct rl_key_policy *k)
{
	int error;

	k->has_override = k->keeps_first = false;
	k->has_address = network != NULL;
	if (network)
		k->address = *network;
	error = take_limits(key, key_len, k);
	if (error < 0 || key_len == 0)
		return error;
	if (!network)
		narrow(&rl->segment, key, key_len, budget, k);
	if (k->rule.has_overrides)
		load_override(&rl->segment, key, network ? 0 : key_len, budget, k);
	if (k->rule.has_timed && k->rule.has_bans && !network)
		apply_timed(&rl->segment, key, key_len, now_ns, budget, k);
	return 0;
}

static int
load(struct rl *rl, int rule, const struct rl_address *network, const void *key, size_t key_len,
     uint64_t now_ns, struct rl_budget *budget, struct rl_key_policy *k)
{
	while (rl_budget_take(budget, 1)) {
		int error = rl_policy_load(rl, rule, budget, &k->rule);

		if (error == 0)
			error = load_key(rl, network, key, key_len, now_ns, budget, k);
		if (error < 0 || !k->rule.has_overrides)
			return error;
		if (rl_policy_is_of(&rl->segment, k->rule.generation) && budget->left > 0)
			return 0;
	}
	return RL_ECOST;
}

int
rl_policy_of_key(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                 struct rl_budget *budget, struct rl_key_policy *k)
{
	return load(rl, rule, NULL, key, key_len, now_ns, budget, k);
}

/* Only the limits of that prefix. */
static void
keep_prefix(struct rl_key_policy *k, unsigned prefix)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < k->rule.count; i++)
		if (rl_compiled_prefix(k->rule.limit[i].limit, &k->address) == prefix)
			k->rule.limit[kept++] = k->rule.limit[i];
	k->rule.count = kept;
}

/* What a network is told, as the limits of a rule with prefixes count it. */
static int
load_network(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_budget *budget,
             struct rl_key_policy *k)
{
	struct rl_address network;
	unsigned prefix;
	int error;

	if (!memchr(key, '/', key_len) || !rl_network_parse(key, key_len, &network, &prefix))
		return RL_EADDRESS;
	network.known = prefix;
	error = load(rl, rule, &network, "", 1, 0, budget, k);
	if (error == 0)
		keep_prefix(k, prefix);
	return error;
}

int
rl_policy_of_name(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                  struct rl_budget *budget, struct rl_key_policy *k)
{
	int error;

	if (!rl_handle_has(rl, rule) || !key || key_len == 0 || key_len > RL_KEY_MAX)
		return -EINVAL;
	error = rl_policy_of_key(rl, rule, key, key_len, now_ns, budget, k);
	return error == RL_EADDRESS ? load_network(rl, rule, key, key_len, budget, k) : error;
}

bool
rl_policy_of_record(struct rl *rl, const struct rl_record_copy *copy,
                    const struct rl_compiled *limit, uint64_t now_ns, struct rl_budget *budget,
                    struct rl_key_policy *k, struct rl_quota *quota)
{
	if (copy->key_kept < copy->key_len ||
	    rl_policy_of_name(rl, rl_rules_handle(&rl->segment, limit->rule), copy->bytes,
	                      copy->key_len, now_ns, budget, k) < 0)
		return false;
	for (unsigned i = 0; i < k->rule.count; i++) {
		if (k->rule.limit[i].limit == limit) {
			*quota = k->rule.limit[i].quota;
			return true;
		}
	}
	return false;
}
