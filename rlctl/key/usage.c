/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/usage.h"

#include <inttypes.h>
#include <stdio.h>

/* A counter by key has no window either, but a count. */
static bool
is_held(const struct rl_entry *entry)
{
	return !entry->count && entry->peek.window_ns == 0;
}

static uint64_t
newest_ns(const struct rl_entry *entry)
{
	if (is_held(entry))
		return 0; /* nobody notes when */
	if (entry->charge_entries > 0)
		return entry->charge_entry[entry->charge_entries - 1].at_ns;
	return entry->buckets > 0 ? entry->bucket_end_ns - entry->bucket_ns : 0;
}

static struct usage
usage_of_counter(const struct rl_entry *entry)
{
	return (struct usage){
		.is_counter = true,
		.used = entry->count->value,
		.is_state_known = true,
		.reset_after_ns = entry->count->expires_after_ns,
	};
}

struct usage
usage_of(const struct rl_entry *entry)
{
	if (entry->count)
		return usage_of_counter(entry);
	return (struct usage){
		.is_held = is_held(entry),
		.limit = entry->peek.limit,
		.used = entry->used,
		.remaining = entry->peek.remaining,
		.tier = entry->tier,
		.state = entry->state,
		.is_state_known = entry->is_state_known,
		.is_limited = entry->is_limited,
		.denied = entry->denied,
		.denied_error = entry->denied_error,
		.denied_rate = (double)entry->denied_recent * 1e9 /
	                       (double)(entry->denied_recent_ns ? entry->denied_recent_ns : 1),
		.newest_ns = newest_ns(entry),
		.retry_after_ns = entry->peek.retry_after_ns,
		.reset_after_ns = entry->peek.reset_after_ns,
	};
}

/* Three digits and a unit. */
static void
put_large(char *text, size_t size, const char *before, double value)
{
	static const char units[] = " kMGT";
	unsigned unit = 0;

	while (value >= 999.5 && units[unit + 1] != '\0') {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(text, size, "%s%.*f", before, value < 10 && value != (unsigned)value,
		         value);
	else
		snprintf(text, size, "%s%.*f%c", before, value < 9.95, value, units[unit]);
}

const char *
usage_denied(const struct usage *usage, char text[DENIED_TEXT_MAX])
{
	if (usage->denied < 1000)
		snprintf(text, DENIED_TEXT_MAX, "%s%" PRIu64, usage->denied_error > 0 ? "~" : "",
		         usage->denied);
	else
		put_large(text, DENIED_TEXT_MAX, usage->denied_error > 0 ? "~" : "",
		          (double)usage->denied);
	return text;
}

const char *
usage_denied_rate(const struct usage *usage, char text[DENIED_TEXT_MAX])
{
	if (usage->denied_rate > 0)
		put_large(text, DENIED_TEXT_MAX, usage->denied_rate < 6.4 ? "" : "~",
		          usage->denied_rate);
	else
		snprintf(text, DENIED_TEXT_MAX, "-");
	return text;
}

struct duration_text
usage_retry(const struct usage *usage)
{
	static const struct duration_text unknown = {"-"};

	return usage->is_held && usage->retry_after_ns == 0
	               ? unknown
	               : duration_format(usage->retry_after_ns);
}

struct duration_text
usage_reset(const struct usage *usage)
{
	static const struct duration_text unknown = {"-"};

	return usage->is_held ? unknown : duration_format(usage->reset_after_ns);
}

static const char *const state_names[][2] = {
	[RL_ENTRY_OPEN] = {"open", "open?"},       [RL_ENTRY_LIMITED] = {"limited", "limited?"},
	[RL_ENTRY_BANNED] = {"banned", "banned?"}, [RL_ENTRY_EXEMPT] = {"exempt", "exempt?"},
	[RL_ENTRY_SHADOW] = {"shadow", "shadow?"},
};

const char *
usage_state(const struct usage *usage)
{
	if (usage->is_counter)
		return "counter";
	return state_names[usage->state][!usage->is_state_known];
}

const char *
usage_state_name(const struct usage *usage)
{
	return usage->is_counter ? "counter" : state_names[usage->state][0];
}

enum colour
usage_colour(const struct usage *usage)
{
	if (usage->is_counter)
		return COLOUR_PLAIN;
	if (usage->state == RL_ENTRY_BANNED)
		return COLOUR_BANNED;
	return usage->is_limited ? COLOUR_LIMITED : COLOUR_PLAIN;
}

json_t *
json_tier(uint32_t tier)
{
	return tier > 0 ? json_count(tier) : json_null();
}

void
json_put_usage(json_t *object, const struct usage *usage)
{
	json_put(object, "limit", json_count(usage->limit));
	json_put(object, "used", json_count(usage->used));
	json_put(object, "remaining", json_count(usage->remaining));
	json_put(object, "tier", json_tier(usage->tier));
	json_put(object, "denied_estimate", json_count(usage->denied));
	json_put(object, "denied_error", json_count(usage->denied_error));
	json_put(object, "denied_per_second", json_real(usage->denied_rate));
	json_put(object, "newest_ns", json_count(usage->newest_ns));
	json_put(object, "state", json_text(usage_state_name(usage)));
	json_put(object, "state_known", json_boolean(usage->is_state_known));
	json_put(object, "limited", json_boolean(usage->is_limited));
	json_put(object, "retry_after_ns", json_duration(usage->retry_after_ns));
	json_put(object, "reset_after_ns", json_duration(usage->reset_after_ns));
}

struct key_view
entry_key(const struct rl_entry *entry)
{
	return (struct key_view){entry->key, entry->key_kept, entry->key_len, entry->id};
}

bool
entry_has_key(const struct rl_entry *entry)
{
	return entry->key && entry->key_len > 0 && entry->key_kept == entry->key_len;
}
