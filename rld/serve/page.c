/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve/page.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>
#include <text/names.h>

#include "serve/page_health.h"
#include "serve/page_key.h"

/* A rule and what is asked of it now. */
struct row {
	struct rl_rule_info rule;
	uint64_t denied; /* in the last hour */
};

static json_int_t
milliseconds(uint64_t ns)
{
	return (json_int_t)(ns / RL_MILLISECOND);
}

static const char *
rule_name(struct rl *rl, int rule, struct rl_rule_info *info)
{
	if (rule < 0)
		return "";
	return rl_rule_info(rl, rule, info) == 1 ? info->name : "?";
}

static json_t *
limit_json(struct rl *rl, int rule, unsigned index, const struct rl_limit *limit)
{
	uint64_t denied = 0, shadow_denied = 0;
	char text[96];

	rl_limit_stats(rl, rule, index, &denied, &shadow_denied);
	if (limit->algorithm == RL_IN_FLIGHT)
		snprintf(text, sizeof text, "%u in flight", limit->capacity);
	else
		snprintf(text, sizeof text, "%u per %s", limit->capacity,
		         limit->window_ns == RL_NEVER_NS ? "ever"
		                                         : duration_format(limit->window_ns).text);
	return json_pack("{s:s, s:s, s:b, s:I}", "text", text, "algorithm",
	                 algorithm_name(limit->algorithm), "shadow", limit->shadow, "denied",
	                 (json_int_t)(limit->shadow ? shadow_denied : denied));
}

static json_t *
limits_json(struct rl *rl, const struct rl_rule_info *rule)
{
	json_t *limits = json_array();

	for (unsigned i = 0; i < rule->limit_count; i++)
		json_array_append_new(limits, limit_json(rl, rule->handle, i, &rule->limits[i]));
	return limits;
}

/* [start in ms, allowed, denied, of which by bans, and for a full table], ... */
static json_t *
spans_json(const struct rl_history_span *spans, int count)
{
	json_t *list = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(
			list, json_pack("[I, I, I, I, I]", milliseconds(spans[i].start_ns),
		                        (json_int_t)spans[i].allowed, (json_int_t)spans[i].denied,
		                        (json_int_t)spans[i].banned, (json_int_t)spans[i].full));
	return list;
}

static json_t *
minutes_json(struct rl *rl, int rule, uint64_t now_ns)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES];

	return spans_json(spans, rl_history_minutes(rl, rule, now_ns, spans));
}

static json_t *
quarters_json(struct rl *rl, int rule, uint64_t now_ns)
{
	struct rl_history_span spans[RL_HISTORY_QUARTERS];

	return spans_json(spans, rl_history_quarters(rl, rule, now_ns, spans));
}

static json_t *
rule_json(struct rl *rl, const struct rl_rule_info *rule, uint64_t now_ns, const char *history)
{
	uint64_t counters[RL_COUNTERS] = {0};
	json_t *object;

	rl_stats(rl, rule->handle, counters, RL_COUNTERS);
	object = json_pack("{s:s, s:o, s:I, s:I, s:I}", "rule", rule->name, "limits",
	                   limits_json(rl, rule), "allowed", (json_int_t)counters[RL_COUNT_allowed],
	                   "denied", (json_int_t)counters[RL_COUNT_denied], "shadow_denied",
	                   (json_int_t)counters[RL_COUNT_shadow_denied]);
	if (strcmp(history, PAGE_ALL) != 0 && strcmp(history, rule->name) != 0)
		return object;
	json_object_set_new(object, "minutes", minutes_json(rl, rule->handle, now_ns));
	json_object_set_new(object, "quarters", quarters_json(rl, rule->handle, now_ns));
	return object;
}

static uint64_t
denied_lately(struct rl *rl, int rule, uint64_t now_ns)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES];
	int count = rl_history_minutes(rl, rule, now_ns, spans);
	uint64_t denied = 0;

	for (int i = 0; i < count; i++)
		denied += spans[i].denied;
	return denied;
}

/* Most denials first, then by name: who is shown does not depend on the row. */
static int
compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->denied != right->denied)
		return left->denied < right->denied ? 1 : -1;
	return strcmp(left->rule.name, right->rule.name);
}

static size_t
read_rows(struct rl *rl, uint32_t rules, uint64_t now_ns, struct row *rows)
{
	size_t count = 0;

	for (uint32_t id = 0; id < rules; id++) {
		struct row *row = &rows[count];

		if (rl_rule_info(rl, (int)id, &row->rule) != 1 || !row->rule.name[0])
			continue;
		row->denied = denied_lately(rl, row->rule.handle, now_ns);
		count++;
	}
	qsort(rows, count, sizeof *rows, compare_rows);
	return count;
}

static int
add_rules(json_t *page, struct rl *rl, const struct rl_info *info, uint64_t now_ns,
          const char *history)
{
	struct row *rows = calloc(info->rules, sizeof *rows);
	json_t *list = json_array();
	size_t count;

	if (!rows)
		return -1;
	count = read_rows(rl, info->rules, now_ns, rows);
	for (size_t i = 0; i < count && i < PAGE_RULES; i++)
		json_array_append_new(list, rule_json(rl, &rows[i].rule, now_ns, history));
	free(rows);
	json_object_set_new(page, "rule_count", json_integer((json_int_t)count));
	return json_object_set_new(page, "rules", list);
}

struct ban_list {
	struct rl *rl;
	json_t *list;
};

static int
add_ban(const struct rl_ban_info *ban, void *arg)
{
	const struct ban_list *bans = arg;
	struct rl_rule_info rule;
	const struct rl_pattern *pattern = &ban->pattern;

	if (json_array_size(bans->list) == PAGE_BANS)
		return 1;
	json_array_append_new(
		bans->list,
		json_pack("{s:b, s:s, s:o, s:I}", "exemption", ban->is_exemption, "rule",
	                  rule_name(bans->rl, ban->rule, &rule), "key",
	                  page_key(pattern->key, pattern->key_len, ban->key_len), "until",
	                  ban->until_ns == RL_NEVER_NS ? (json_int_t)-1
	                                               : milliseconds(ban->until_ns)));
	return 0;
}

static int
add_override(const struct rl_ban_info *override, void *arg)
{
	const struct ban_list *list = arg;
	struct rl_rule_info rule;

	if (json_array_size(list->list) == PAGE_BANS)
		return 1;
	json_array_append_new(list->list,
	                      json_pack("{s:s, s:i, s:o, s:I, s:I}", "rule",
	                                rule_name(list->rl, override->rule, &rule), "limit",
	                                (int) override->limit + 1, "key",
	                                page_key(override->pattern.key, override->pattern.key_len,
	                                         override->key_len),
	                                "capacity", (json_int_t) override->capacity, "until",
	                                milliseconds(override->until_ns)));
	return 0;
}

static int
add_overrides(json_t *page, struct rl *rl, uint64_t now_ns)
{
	struct ban_list overrides = {rl, json_array()};
	int is_more = rl_overrides_walk(rl, now_ns, add_override, &overrides);

	json_object_set_new(page, "overrides_more", json_boolean(is_more == 1));
	return json_object_set_new(page, "overrides", overrides.list);
}

static int
add_bans(json_t *page, struct rl *rl, uint64_t now_ns)
{
	struct ban_list bans = {rl, json_array()};
	int is_more = rl_bans_walk(rl, now_ns, add_ban, &bans);

	json_object_set_new(page, "bans_more", json_boolean(is_more == 1));
	return json_object_set_new(page, "bans", bans.list);
}

struct key_list {
	struct rl *rl;
	json_t *list; /* the key denied last at the end */
	uint64_t now_ns;
};

/* What a request of a key would be told now, and how often it is denied of late. */
struct key_state {
	const char *name;
	uint64_t retry_after_ns;
	double rate;
	bool is_seen; /* its counter was */
};

static const char *
state_name(const struct rl_entry *entry)
{
	if (!entry->is_state_known)
		return "unknown";
	return !entry->is_limited ? "open" : entry->state == RL_ENTRY_BANNED ? "banned" : "limited";
}

static int
see_counter(const struct rl_entry *entry, void *arg)
{
	struct key_state *state = arg;

	if (entry->is_stale)
		return 0;
	state->rate += (double)entry->denied_recent * 1e9 /
	               (double)(entry->denied_recent_ns ? entry->denied_recent_ns : 1);
	if (state->is_seen && !entry->is_limited)
		return 0;
	state->is_seen = true;
	state->name = state_name(entry);
	state->retry_after_ns = entry->is_limited ? entry->peek.retry_after_ns : 0;
	return 0;
}

/*
 * As rlctl list has it: a network, which is the key of a limit with prefixes, is no address that a
 * request could have. A key of which only a part is kept cannot be asked for.
 */
static struct key_state
state_of(const struct key_list *keys, const struct rl_event *event)
{
	struct key_state state = {.name = "unknown"};

	struct rl_item item = {.rule = event->rule,
	                       .key = event->key,
	                       .key_len = event->key_len,
	                       .now_ns = keys->now_ns};
	struct rl_result result;

	if (!event->key || event->key_kept < event->key_len || event->rule < 0)
		return state;
	rl_lookup(keys->rl, event->rule, event->key, event->key_len, keys->now_ns, see_counter,
	          &state);
	if (rl_decide(keys->rl, &item, 1, RL_PEEK, 0, &result, NULL) == RL_ALLOWED)
		state.name = "open";
	else if (result.verdict != RL_UNDECIDED)
		state.name = result.reason == RL_BY_BAN ? "banned" : "limited";
	if (result.verdict != RL_UNDECIDED)
		state.retry_after_ns = result.retry_after_ns;
	return state;
}

static bool
is_same_key(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "rule"), json_object_get(b, "rule")) &&
	       json_equal(json_object_get(a, "key"), json_object_get(b, "key"));
}

#define PAUSE_MS 120000 /* a key that is denied is told of once a minute */

static json_int_t
time_of(const json_t *entry, const char *name)
{
	return json_integer_value(json_object_get(entry, name));
}

/* The newest event of a key alone, with the time of the first before which there was a pause. */
static void
take_over(json_t *list, json_t *entry)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *old = json_array_get(list, i);

		if (!is_same_key(old, entry))
			continue;
		if (time_of(entry, "time") - time_of(old, "time") <= PAUSE_MS)
			json_object_set(entry, "since", json_object_get(old, "since"));
		if (time_of(entry, "last") < time_of(old, "last"))
			json_object_set(entry, "last", json_object_get(old, "last"));
		json_array_remove(list, i);
		return;
	}
}

/* Where the last denial of it has it: of too many keys the one goes whose is longest ago. */
static void
keep_newest(json_t *list, json_t *entry)
{
	size_t at;

	take_over(list, entry);
	at = json_array_size(list);
	while (at > 0 && time_of(json_array_get(list, at - 1), "last") > time_of(entry, "last"))
		at--;
	json_array_insert_new(list, at, entry);
	if (json_array_size(list) > PAGE_KEYS)
		json_array_remove(list, 0);
}

/* No word of damaged bytes is in the future. */
static json_int_t
last_denied(const struct key_list *keys, const struct rl_event *event)
{
	return milliseconds(event->last_ns < keys->now_ns ? event->last_ns : keys->now_ns);
}

static int
add_key(const struct rl_event *event, void *arg)
{
	struct key_list *keys = arg;
	struct rl_rule_info rule;
	struct key_state state;

	if (event->kind != RL_EVENT_DENIED && event->kind != RL_EVENT_BANNED)
		return 0;
	state = state_of(keys, event);
	keep_newest(keys->list,
	            json_pack("{s:I, s:I, s:I, s:s, s:I, s:o, s:s, s:I, s:f}", "time",
	                      milliseconds(event->time_ns), "since", milliseconds(event->time_ns),
	                      "last", last_denied(keys, event), "rule",
	                      rule_name(keys->rl, event->rule, &rule), "limit",
	                      (json_int_t)event->limit + 1, "key",
	                      page_key(event->key, event->key_kept, event->key_len), "state",
	                      state.name, "retry",
	                      state.retry_after_ns == RL_NEVER_NS
	                              ? (json_int_t)-1
	                              : milliseconds(state.retry_after_ns),
	                      "rate", state.rate));
	return 0;
}

static int
add_keys(json_t *page, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	struct key_list keys = {rl, json_array(), now_ns};
	struct rl_events_cursor cursor = {0};

	if (info->events_told > PAGE_EVENTS)
		cursor.next = info->events_told - PAGE_EVENTS;
	if (info->events == 0)
		json_object_set_new(page, "no_events", json_true());
	else
		rl_events_read(rl, &cursor, add_key, &keys);
	return json_object_set_new(page, "keys", keys.list);
}

char *
page_text(const struct report *report, const char *history, size_t *size)
{
	struct rl *rl = report->rl;
	uint64_t now_ns = rl_now(rl);
	struct rl_info info;
	json_t *page;
	char *text = NULL;

	rl_info(rl, &info);
	page = json_pack("{s:s, s:s, s:I}", "segment", info.name, "version", RL_VERSION, "now",
	                 milliseconds(now_ns));
	if (page && add_rules(page, rl, &info, now_ns, history) == 0 &&
	    add_bans(page, rl, now_ns) == 0 && add_overrides(page, rl, now_ns) == 0 &&
	    add_keys(page, rl, &info, now_ns) == 0 &&
	    page_add_health(page, report, &info, now_ns) == 0)
		text = json_dumps(page, JSON_COMPACT);
	json_decref(page);
	*size = text ? strlen(text) : 0;
	return text;
}
