/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rule.h"

static const void *
copy(const void *bytes, size_t len)
{
	return bytes ? memcpy(need(malloc(len + 1)), bytes, len) : NULL;
}

/* A stale entry is free to be retired at any time, so it is none. */
static int
keep_entry(const struct rl_entry *entry, void *arg)
{
	struct explanation *out = arg;
	struct counted *counted;

	if (entry->is_stale || entry->limit >= RL_LIMITS_MAX || out->counted[entry->limit].is_there)
		return 0;
	counted = &out->counted[entry->limit];
	*counted = (struct counted){.is_there = true, .entry = *entry};
	counted->entry.key = copy(entry->key, entry->key_kept);
	counted->entry.charge_entry =
		copy(entry->charge_entry, entry->charge_entries * sizeof(*entry->charge_entry));
	if (entry->count) {
		counted->count = *entry->count;
		counted->entry.count = &counted->count;
	}
	return 0;
}

/* That the key's next request is to have, if it is as the last one that had a tier; 0: none. */
static uint32_t
tier_of(const struct explanation *out)
{
	return out->counted[0].is_there ? out->counted[0].entry.tier : 0;
}

/* The address that stands for a network, as a rule with prefixes has for keys. */
static size_t
askable_len(const struct key_view *key, int error)
{
	const char *slash = error == RL_EADDRESS ? memchr(key->bytes, '/', key->len) : NULL;

	return slash ? (size_t)(slash - (const char *)key->bytes) : key->len;
}

static void
ask_peek(struct rl *rl, struct explanation *out, size_t key_len)
{
	struct decision *decision = &out->decision;
	struct rl_item item = {.rule = out->rule,
	                       .key = decision->key.bytes,
	                       .key_len = key_len,
	                       .capacity = tier_of(out),
	                       .now_ns = out->now_ns};

	rl_check_limits(rl, &item, &decision->result, &decision->count, decision->results);
	if (decision->count > decision->info.limit_count)
		decision->count = decision->info.limit_count;
}

static void
see_shares(struct rl *rl, struct explanation *out)
{
	for (unsigned i = 0; i < out->decision.info.limit_count; i++) {
		struct counted *counted = &out->counted[i];

		if (out->decision.info.limits[i].scope == RL_SCOPE_CLUSTER)
			counted->share = share_view_read(
				rl, counted->is_there ? &counted->entry : NULL, out->now_ns);
	}
}

int
explain(struct rl *rl, int rule, const struct key_view *key, struct explanation *out)
{
	int error;

	memset(out, 0, sizeof(*out));
	out->rule = rule;
	out->now_ns = rl_now(rl);
	out->decision = (struct decision){.key = *key, .cost = 1};
	rule_read(rl, rule, &out->decision.info);
	out->decision.rule = out->decision.info.name;
	error = rl_lookup(rl, rule, key->bytes, key->len, out->now_ns, keep_entry, out);
	if (error < 0 && error != -ENOENT)
		return error;
	ask_peek(rl, out, key->len);
	if (out->decision.result.error == RL_EADDRESS)
		ask_peek(rl, out, askable_len(key, RL_EADDRESS));
	see_shares(rl, out);
	out->active_bans = active_bans_collect(rl, rule, key);
	overrides_find(rl, rule, key, &out->overrides);
	out->timed = active_overrides_collect(rl, rule, key);
	out->holders = holders_collect(rl, rule, key);
	return 0;
}

void
explanation_free(struct explanation *explanation)
{
	for (unsigned i = 0; i < RL_LIMITS_MAX; i++) {
		free((void *)explanation->counted[i].entry.key);
		free((void *)explanation->counted[i].entry.charge_entry);
	}
	active_bans_free(&explanation->active_bans);
	active_bans_free(&explanation->timed);
	holders_free(&explanation->holders);
}

const struct rl_result *
explanation_in_overflow(const struct explanation *explanation, unsigned limit)
{
	const struct decision *decision = &explanation->decision;
	const struct rl_result *result = &decision->results[limit];

	return limit < decision->count && result->reason == RL_BY_RESERVE ? result : NULL;
}

bool
explanation_has_anything(const struct explanation *explanation)
{
	for (unsigned i = 0; i < RL_LIMITS_MAX; i++)
		if (explanation->counted[i].is_there || explanation_in_overflow(explanation, i))
			return true;
	return explanation->active_bans.count > 0 || explanation->overrides.count > 0 ||
	       explanation->timed.count > 0;
}
