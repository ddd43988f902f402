/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/tally.h"

#include "base/array.h"

static struct denied_key *
find(const struct candidate *candidate, uint32_t key)
{
	uint32_t place = candidate->record[key];

	return place ? &candidate->keys[place - 1] : NULL;
}

const struct denied_key *
tally_of(const struct candidate *candidate, uint32_t key)
{
	return find(candidate, key);
}

static struct denied_key *
add(struct candidate *candidate, uint32_t key)
{
	candidate->keys = array_grow(candidate->keys, (size_t)candidate->keys_denied,
	                             &candidate->key_room, sizeof(*candidate->keys));
	candidate->keys[candidate->keys_denied] =
		(struct denied_key){.key = key, .since_ns = RL_NEVER_NS, .last_ns = RL_NEVER_NS};
	candidate->record[key] = (uint32_t)++candidate->keys_denied;
	return find(candidate, key);
}

static void
deny(struct candidate *candidate, const struct event *event, const struct rl_result *result)
{
	struct denied_key *key = find(candidate, event->key);

	candidate->denied++;
	if (result->reason == RL_BY_BAN)
		candidate->banned++;
	else
		candidate->denied_by[result->index]++;
	if (!key)
		key = add(candidate, event->key);
	key->denied++;
	if (key->since_ns == RL_NEVER_NS)
		key->since_ns = event->time_ns;
	key->last_ns = event->time_ns;
}

static void
end_span(struct denied_key *key, uint64_t end_ns)
{
	if (key->since_ns == RL_NEVER_NS)
		return;
	if (end_ns > key->since_ns)
		key->denied_ns += end_ns - key->since_ns;
	key->since_ns = RL_NEVER_NS;
}

static void
admit(struct candidate *candidate, const struct event *event, const struct rl_result *result)
{
	struct denied_key *key = find(candidate, event->key);

	candidate->admitted++;
	candidate->exempt += result->reason == RL_BY_EXEMPTION;
	candidate->shadow_denied += result->is_shadow_denied != 0;
	if (key)
		end_span(key, event->time_ns);
	if (result->delay_ns == 0)
		return;
	candidate->delayed++;
	candidate->delay_ns += result->delay_ns;
	if (result->delay_ns > candidate->delay_most_ns)
		candidate->delay_most_ns = result->delay_ns;
}

bool
tally_count(struct candidate *candidate, const struct event *event, const struct rl_result *result)
{
	bool is_denied = result->verdict != RL_ALLOWED;

	if (result->verdict == RL_UNDECIDED) {
		candidate->undecided++;
		return false;
	}
	chart_count(&candidate->chart, event->time_ns, is_denied);
	if (is_denied)
		deny(candidate, event, result);
	else
		admit(candidate, event, result);
	return is_denied;
}

void
tally_finish(struct candidate *candidate)
{
	for (size_t i = 0; i < candidate->keys_denied; i++)
		end_span(&candidate->keys[i], candidate->keys[i].last_ns);
}
