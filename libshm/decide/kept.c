/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/kept.h"

#include <errno.h>
#include <string.h>

#include "decide/request.h"
#include "rule/terms.h"

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
rl_kept_terms(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_budget *budget,
              struct rl_terms *t)
{
	int error;

	if (!rl_handle_has(rl, rule) || !key || key_len == 0 || key_len > RL_KEY_MAX)
		return -EINVAL;
	error = rl_terms_load(rl, rule, key, key_len, budget, t);
	return error == RL_EADDRESS ? load_network(rl, rule, key, key_len, budget, t) : error;
}

int
rl_kept_requests(struct rl *rl, int rule, const void *key, size_t key_len,
                 struct rl_request requests[static RL_LIMITS_MAX])
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_terms t;
	int error = rl_kept_terms(rl, rule, key, key_len, &budget, &t);

	if (error < 0)
		return error;
	for (unsigned i = 0; i < t.count; i++)
		rl_request_fill(rl, &item, &t, i, 0, &requests[i]);
	return (int)t.count;
}

bool
rl_kept_has_overrides(const struct rl_segment *s, int rule)
{
	uint64_t flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);

	return (flags & (RL_ROW_OVERRIDES | RL_ROW_OVERRIDES << 1)) != 0;
}

bool
rl_kept_terms_of(struct rl *rl, const struct rl_kept *kept, const struct rl_compiled *limit,
                 struct rl_budget *budget, struct rl_terms *t, struct rl_quota *quota)
{
	if (kept->kept < kept->key_len ||
	    rl_kept_terms(rl, rl_rules_handle(&rl->segment, limit->rule), kept->bytes,
	                  kept->key_len, budget, t) < 0)
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
rl_kept_quota(struct rl *rl, const struct rl_kept *kept, const struct rl_compiled *limit,
              struct rl_budget *budget, struct rl_quota *quota)
{
	struct rl_terms t;

	return rl_kept_has_overrides(&rl->segment, limit->rule) &&
	       rl_kept_terms_of(rl, kept, limit, budget, &t, quota);
}
