/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/limit_view.h"
#include "key/explain.h"
#include "key/key_chart.h"
#include "key/usage.h"

static json_t *
json_bucket(const struct rl_entry *entry, uint32_t bucket)
{
	json_t *object = need(json_object());

	json_put(object, "start_ns", json_count(bucket_start_ns(entry, bucket)));
	json_put(object, "count", json_count(entry->bucket[bucket]));
	json_put(object, "leaving", json_boolean(bucket_is_leaving(entry, bucket)));
	return object;
}

static json_t *
json_moments(const struct rl_entry *entry)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < entry->charge_entries; i++) {
		json_t *object = need(json_object());

		json_put(object, "at_ns", json_count(entry->charge_entry[i].at_ns));
		json_put(object, "cost", json_count(entry->charge_entry[i].cost));
		json_push(array, object);
	}
	return array;
}

static json_t *
json_counted(const struct rl_entry *entry)
{
	json_t *object = need(json_object()), *buckets = need(json_array());
	struct key_view key = entry_key(entry);
	struct usage usage = usage_of(entry);

	json_put_key(object, &key);
	json_put_usage(object, &usage);
	json_put(object, "moments", json_moments(entry));
	json_put(object, "bucket_ns", json_count(entry->bucket_ns));
	json_put(object, "buckets", buckets);
	for (uint32_t i = 0; i < entry->buckets; i++)
		json_push(buckets, json_bucket(entry, i));
	return object;
}

/*
 * The use of all keys without a slot that share the overflow counter; null: the key has a slot, or
 * nothing counts.
 */
static json_t *
json_in_overflow(const struct rl_result *result)
{
	json_t *object;

	if (!result)
		return json_null();
	object = need(json_object());
	json_put(object, "used", json_count(result->used));
	json_put(object, "limit", json_count(result->limit));
	json_put(object, "remaining", json_count(result->remaining));
	json_put(object, "retry_after_ns", json_duration(result->retry_after_ns));
	json_put(object, "reset_after_ns", json_duration(result->reset_after_ns));
	return object;
}

static json_t *
json_limits(const struct explanation *x)
{
	json_t *array = need(json_array());

	for (unsigned i = 0; i < x->decision.info.limit_count; i++) {
		json_t *object = need(json_object());

		json_put(object, "number", json_count(i + UINT64_C(1)));
		json_put(object, "shape", json_limit(&x->decision.info.limits[i]));
		json_put(object, "counted",
		         x->counted[i].is_there ? json_counted(&x->counted[i].entry) : json_null());
		json_put(object, "in_cell", json_in_overflow(explanation_in_overflow(x, i)));
		if (x->decision.info.limits[i].scope == RL_SCOPE_CLUSTER)
			json_put(object, "cluster", share_view_json(&x->counted[i].share));
		if (x->decision.info.limits[i].algorithm == RL_IN_FLIGHT)
			json_put(object, "holders", holders_json(&x->holders, i));
		json_push(array, object);
	}
	return array;
}

static json_t *
json_active_bans(struct rl *rl, const struct explanation *x)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < x->active_bans.count; i++)
		json_push(array, active_ban_json(rl, &x->active_bans.items[i]));
	return array;
}

static json_t *
json_overrides(const struct explanation *x)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < x->overrides.count; i++)
		json_push(array,
		          override_json(&x->overrides.items[i], x->decision.info.limit_count));
	return array;
}

static json_t *
json_timed(struct rl *rl, const struct explanation *x)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < x->timed.count; i++)
		json_push(array, timed_json(rl, &x->timed.items[i]));
	return array;
}

json_t *
explanation_json(struct rl *rl, const struct explanation *x)
{
	json_t *root = need(json_object());

	json_put(root, "rule", json_text(x->decision.rule));
	json_put_key(root, &x->decision.key);
	json_put(root, "answer", decision_json(&x->decision));
	json_put(root, "bans", json_active_bans(rl, x));
	json_put(root, "overrides", json_overrides(x));
	json_put(root, "timed", json_timed(rl, x));
	json_put(root, "limits", json_limits(x));
	return root;
}
