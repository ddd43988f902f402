/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of calls and answers that every binding plays, bindings/table.json, played on the
 * library.
 *
 * With RL_TABLE_OUT=FILE the table is written with the answers that the library gives: for who adds
 * to
 * it. bindings/README.md says what each member means.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "load/load.h"
#include "rl_http.h"
#include "testing.h"
#include "text/names.h"

#define TABLE "bindings/table.json"
#define REQUESTS 16 /* that a case keeps by name */
#define KEYS_MAX 40
#define TEXT_MAX 512

static const char *const verdicts[] = {"allowed", "denied", "never", "undecided", NULL};
static const char *const reasons[] = {"limit", "ban", "exemption", NULL};
static const char *const matches[] = {"key", "prefix", "network", NULL};
static const char *const ends[] = {"found", "listed", "no_address", "far", NULL};
static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};

/* What a step may refer to by name. */
struct request {
	const char *name;
	struct rl_charges charges;
};

struct play {
	struct rl *rl;
	struct request requests[REQUESTS];
	char *keys[KEYS_MAX]; /* of one step */
	size_t key_count;
	struct rl_result last; /* of the newest check, for headers */
	const char *last_rule;
};

/* A key as an adapter passes it: one that is too long by its digest. */
static size_t
key_of(struct play *p, const json_t *step, const void **key)
{
	const char *text = json_string_value(json_object_get(step, "key"));
	const char *hex = json_string_value(json_object_get(step, "key_hex"));
	size_t times = (size_t)json_integer_value(json_object_get(step, "times")), len;
	char *bytes;

	assert_true((text != NULL) != (hex != NULL));
	assert_true(p->key_count < KEYS_MAX);
	len = hex ? strlen(hex) / 2 : strlen(text) * (times ? times : 1);
	bytes = p->keys[p->key_count++] = malloc(len + RL_KEY_DIGEST_SIZE);
	for (size_t i = 0; i < len; i++) {
		unsigned byte = 0;
		if (hex)
			assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		bytes[i] = hex ? (char)byte : text[i % strlen(text)];
	}
	*key = bytes;
	return len > RL_KEY_MAX ? rl_key_digest(bytes, len, bytes) : len;
}

/* Nanoseconds are text, for not every language has 64 bits in a number; absent, they are 0. */
static uint64_t
ns_of(const json_t *step, const char *name)
{
	const char *text = json_string_value(json_object_get(step, name));

	if (!text)
		return 0;
	return strcmp(text, "never") == 0 ? RL_NEVER_NS : strtoull(text, NULL, 10);
}

static void
put_ns(json_t *answer, const char *name, uint64_t ns)
{
	char text[24] = "never";

	if (ns != RL_NEVER_NS)
		snprintf(text, sizeof text, "%llu", (unsigned long long)ns);
	if (ns != 0)
		json_object_set_new(answer, name, json_string(text));
}

static void
put_number(json_t *answer, const char *name, uint64_t number)
{
	if (number != 0)
		json_object_set_new(answer, name, json_integer((json_int_t)number));
}

static void
put_error(json_t *answer, int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{RL_ERING, "RL_ERING"},       {RL_EADDRESS, "RL_EADDRESS"},
		{RL_EREMOVED, "RL_EREMOVED"}, {RL_EEMPTY, "RL_EEMPTY"},
		{RL_EDEFINED, "RL_EDEFINED"}, {RL_ECHARGES, "RL_ECHARGES"},
		{RL_ESETTLED, "RL_ESETTLED"}, {-EINVAL, "EINVAL"},
		{-EEXIST, "EEXIST"},          {-ENOENT, "ENOENT"},
		{-ENOSPC, "ENOSPC"},          {0, NULL},
	};
	size_t i = 0;

	while (names[i].name && names[i].error != error)
		i++;
	if (error != 0) {
		assert_non_null(names[i].name); /* add it */
		json_object_set_new(answer, "error", json_string(names[i].name));
	}
}

static json_t *
result_json(const struct rl_result *r)
{
	json_t *answer = json_object();

	json_object_set_new(answer, "verdict", json_string(verdicts[r->verdict]));
	put_error(answer, r->error);
	if (r->verdict == RL_UNDECIDED)
		return answer;
	if (r->reason != RL_BY_LIMIT)
		json_object_set_new(answer, "reason", json_string(reasons[r->reason]));
	put_number(answer, "index", r->index);
	put_number(answer, "limit", r->limit);
	put_number(answer, "remaining", r->remaining);
	put_number(answer, "used", r->used);
	put_number(answer, "is_shadow_denied", (uint64_t)r->is_shadow_denied);
	put_ns(answer, "retry_after_ns", r->retry_after_ns);
	put_ns(answer, "reset_after_ns", r->reset_after_ns);
	put_ns(answer, "delay_ns", r->delay_ns);
	put_ns(answer, "window_ns", r->window_ns);
	return answer;
}

static const char *
text_of(const json_t *step, const char *name)
{
	return json_string_value(json_object_get(step, name));
}

static uint32_t
number_of(const json_t *step, const char *name)
{
	return (uint32_t)json_integer_value(json_object_get(step, name));
}

static struct rl_limit
limit_of(const json_t *limit)
{
	struct rl_limit l = {
		.capacity = number_of(limit, "capacity"),
		.window_ns = ns_of(limit, "window_ns"),
		.granularity = number_of(limit, "granularity"),
		.hard = json_is_true(json_object_get(limit, "hard")),
		.burst = number_of(limit, "burst"),
		.undelayed = number_of(limit, "undelayed"),
		.shadow = json_is_true(json_object_get(limit, "shadow")),
		.prefix_v4 = (uint8_t)number_of(limit, "prefix_v4"),
		.prefix_v6 = (uint8_t)number_of(limit, "prefix_v6"),
		.prefetch = (uint16_t)number_of(limit, "prefetch"),
		.count_denied = json_is_true(json_object_get(limit, "count_denied")),
	};

	assert_true(algorithm_find(text_of(limit, "algorithm"), &l.algorithm));
	return l;
}

/* Returns what rl_define() did; the text of rl_rule_check() goes to `text`. */
static int
define(const struct play *p, const json_t *rule, char text[RL_RULE_TEXT_SIZE])
{
	const json_t *limits = json_object_get(rule, "limits");
	struct rl_limit l[RL_LIMITS_MAX + 1] = {0};
	size_t count = json_array_size(limits);
	struct rl_info info;

	assert_in_range(count, 1, RL_LIMITS_MAX + 1);
	for (size_t i = 0; i < count; i++)
		l[i] = limit_of(json_array_get(limits, i));
	struct rl_rule made = {.name = text_of(rule, "name"),
	                       .limit = l[0],
	                       .more = l + 1,
	                       .more_count = count - 1,
	                       .flags = json_is_true(json_object_get(rule, "keep")) ? RL_DEFINE_KEEP
	                                                                            : 0};
	rl_info(p->rl, &info);
	rl_rule_check(&made, &(struct rl_options){.ring = info.ring}, text, RL_RULE_TEXT_SIZE);
	return rl_define(p->rl, &made);
}

static int
rule_of(const struct play *p, const json_t *step)
{
	const char *name = text_of(step, "rule");

	return name ? rl_find(p->rl, name) : RL_ANY_RULE;
}

static struct rl_charges *
charges_of(struct play *p, const char *name)
{
	for (size_t i = 0; i < REQUESTS; i++) {
		struct request *r = &p->requests[i];
		if (r->name && strcmp(r->name, name) != 0)
			continue;
		r->name = name;
		return &r->charges;
	}
	fail_msg("too many requests have a name");
	return NULL;
}

static struct rl_item
item_of(struct play *p, const json_t *step)
{
	const json_t *cost = json_object_get(step, "cost");
	const char *request = text_of(step, "request");
	struct rl_item item = {
		.rule = rule_of(p, step),
		.cost = cost ? (uint64_t)json_integer_value(cost) : 1,
		.capacity = number_of(step, "capacity"),
		.burst = number_of(step, "burst"),
		.undelayed = number_of(step, "undelayed"),
	};

	item.flags |= json_object_get(step, "burst") ? RL_ITEM_BURST : 0;
	item.flags |= json_object_get(step, "undelayed") ? RL_ITEM_UNDELAYED : 0;
	item.key_len = key_of(p, step, &item.key);
	if (request)
		item.charges = charges_of(p, request);
	return item;
}

static json_t *
told(struct play *p, const json_t *step, const struct rl_result *r)
{
	p->last = *r;
	p->last_rule = text_of(step, "rule");
	return result_json(r);
}

static json_t *
play_check(struct play *p, const json_t *step)
{
	struct rl_item item = item_of(p, step);
	struct rl_result r;

	at_check_item(p->rl, &item, ns_of(step, "at_ns"), &r);
	return told(p, step, &r);
}

static json_t *
play_peek(struct play *p, const json_t *step)
{
	struct rl_item item = item_of(p, step);
	struct rl_result r;

	at_peek(p->rl, item.rule, item.key, item.key_len, ns_of(step, "at_ns"), &r);
	return told(p, step, &r);
}

static json_t *
play_reserve(struct play *p, const json_t *step)
{
	struct rl_item item = item_of(p, step);
	struct rl_result r;

	at_reserve_item(p->rl, &item, ns_of(step, "max_wait_ns"), ns_of(step, "at_ns"), &r);
	return told(p, step, &r);
}

static json_t *
play_limits(struct play *p, const json_t *step)
{
	struct rl_item item = item_of(p, step);
	struct rl_result r, all[RL_LIMITS_MAX];
	json_t *answer, *list = json_array();
	size_t count;

	at_check_limits(p->rl, &item, ns_of(step, "at_ns"), &r, &count, all);
	answer = told(p, step, &r);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, result_json(&all[i]));
	json_object_set_new(answer, "limits", list);
	return answer;
}

static json_t *
play_items(struct play *p, const json_t *step, bool is_all)
{
	const json_t *list = json_object_get(step, "items");
	struct rl_item items[RL_ITEMS_MAX + 1];
	struct rl_result results[RL_ITEMS_MAX + 1];
	size_t count = json_array_size(list), decided;
	uint64_t now_ns = ns_of(step, "at_ns");
	json_t *answer = json_object(), *told_of = json_array();

	for (size_t i = 0; i < count; i++)
		items[i] = item_of(p, json_array_get(list, i));
	if (is_all) {
		enum rl_verdict verdict =
			at_check_all(p->rl, items, count, now_ns, results, &decided);
		json_object_set_new(answer, "verdict", json_string(verdicts[verdict]));
		if (decided < count)
			json_object_set_new(answer, "decided", json_integer((json_int_t)decided));
	} else {
		at_check_many(p->rl, items, count, now_ns, results);
	}
	for (size_t i = 0; i < count; i++)
		json_array_append_new(told_of, result_json(&results[i]));
	json_object_set_new(answer, "results", told_of);
	return answer;
}

static json_t *
play_check_all(struct play *p, const json_t *step)
{
	return play_items(p, step, true);
}

static json_t *
play_check_many(struct play *p, const json_t *step)
{
	return play_items(p, step, false);
}

/* An error, or what a call returned. */
static json_t *
done_json(int done)
{
	json_t *answer = json_object();

	put_error(answer, done < 0 ? done : 0);
	if (done >= 0)
		json_object_set_new(answer, "done", json_integer(done));
	return answer;
}

static json_t *
play_refund(struct play *p, const json_t *step)
{
	struct rl_charges *charges = charges_of(p, text_of(step, "request"));

	return done_json(at_refund(p->rl, charges, ns_of(step, "at_ns")));
}

static json_t *
play_settle(struct play *p, const json_t *step)
{
	struct rl_charges *charges = charges_of(p, text_of(step, "request"));

	return done_json(
		at_settle(p->rl, charges, number_of(step, "actual"), ns_of(step, "at_ns")));
}

static json_t *
play_refund_key(struct play *p, const json_t *step)
{
	struct rl_item item = item_of(p, step);

	return done_json(at_refund_key(p->rl, &item, ns_of(step, "at_ns")));
}

static json_t *
play_release(struct play *p, const json_t *step)
{
	struct rl_hold holds[RL_LIMITS_MAX];
	size_t count = rl_holds(charges_of(p, text_of(step, "request")), holds, RL_LIMITS_MAX);

	return done_json(rl_release(p->rl, holds, count));
}

static json_t *
play_counter(struct play *p, const json_t *step)
{
	const char *what = strchr(text_of(step, "call"), '_') + 1;
	int space = rl_find(p->rl, text_of(step, "space")), done;
	uint64_t now_ns = ns_of(step, "at_ns"), lifetime_ns = ns_of(step, "lifetime_ns");
	json_int_t n = json_integer_value(json_object_get(step, "value"));
	struct rl_count count = {0};
	const void *key;
	size_t len = key_of(p, step, &key);
	json_t *answer;

	if (strcmp(what, "add") == 0)
		done = at_counter_add(p->rl, space, key, len, n, lifetime_ns, now_ns, &count);
	else if (strcmp(what, "get") == 0)
		done = at_counter_get(p->rl, space, key, len, now_ns, &count);
	else if (strcmp(what, "set") == 0)
		done = at_counter_set(p->rl, space, key, len, (uint64_t)n, lifetime_ns, now_ns,
		                      &count);
	else if (strcmp(what, "set_new") == 0)
		done = at_counter_set_new(p->rl, space, key, len, (uint64_t)n, lifetime_ns, now_ns,
		                          &count);
	else if (strcmp(what, "touch") == 0)
		done = at_counter_touch(p->rl, space, key, len, lifetime_ns, now_ns, &count);
	else
		done = at_counter_drop(p->rl, space, key, len, now_ns);
	answer = done_json(done);
	if (done >= 0) {
		put_number(answer, "value", count.value);
		put_ns(answer, "expires_after_ns", count.expires_after_ns);
		put_number(answer, "is_new", (uint64_t)count.is_new);
	}
	return answer;
}

static struct rl_pattern
pattern_of(struct play *p, const json_t *step)
{
	struct rl_pattern pattern = {0};
	int match = name_find(matches, text_of(step, "match"));

	assert_true(match >= 0);
	pattern.match = (enum rl_match)match;
	pattern.key_len = key_of(p, step, &pattern.key);
	return pattern;
}

static json_t *
play_ban(struct play *p, const json_t *step)
{
	const char *call = text_of(step, "call");
	struct rl_pattern pattern = pattern_of(p, step);
	uint64_t until_ns = ns_of(step, "until_ns");
	int rule = rule_of(p, step);

	if (strcmp(call, "unban") == 0)
		return done_json(rl_unban(p->rl, rule, &pattern));
	return done_json(
		(strcmp(call, "ban") == 0 ? rl_ban : rl_allow)(p->rl, rule, &pattern, until_ns));
}

static json_t *
play_reset(struct play *p, const json_t *step)
{
	const void *key;
	size_t len = key_of(p, step, &key);

	return done_json(rl_reset(p->rl, rule_of(p, step), key, len));
}

static json_t *
play_reset_matching(struct play *p, const json_t *step)
{
	bool is_some = json_object_get(step, "match") != NULL;
	struct rl_pattern pattern = {0};
	struct rl_reset_counts counts;
	json_t *answer;

	if (is_some)
		pattern = pattern_of(p, step);
	answer = done_json(
		rl_reset_matching(p->rl, rule_of(p, step), is_some ? &pattern : NULL, &counts));
	put_number(answer, "forgotten", counts.forgotten);
	put_number(answer, "unknown", counts.unknown);
	return answer;
}

static json_t *
play_define(struct play *p, const json_t *step)
{
	char text[RL_RULE_TEXT_SIZE];
	int rule = define(p, json_object_get(step, "define"), text);
	json_t *answer = done_json(rule < 0 ? rule : 0);

	if (rule < 0 && text[0])
		json_object_set_new(answer, "text", json_string(text));
	return answer;
}

static json_t *
play_forget(struct play *p, const json_t *step)
{
	return done_json(rl_forget(p->rl, text_of(step, "rule")));
}

static json_t *
play_digest(struct play *p, const json_t *step)
{
	const void *key;
	size_t len = key_of(p, step, &key);

	return json_pack("{s:s#}", "text", key, len);
}

/* The quota of a bucket is its rule's capacity, of others the limit that was told. */
static struct rl_http_policy
policy_of(const struct play *p)
{
	struct rl_http_policy policy = {
		.name = p->last_rule, .quota = p->last.limit, .window_ns = p->last.window_ns};
	struct rl_rule_info info;
	const struct rl_limit *l;
	uint32_t flags;

	assert_int_equal(rl_rule_info(p->rl, rl_find(p->rl, p->last_rule), &info), 1);
	l = &info.limits[p->last.index];
	flags = rl_algorithm_info(l->algorithm)->flags;
	if (flags & RL_IS_BUCKET)
		policy.quota = l->capacity;
	if (flags & RL_IS_HELD)
		policy.unit = "concurrent-requests";
	return policy;
}

static void
put_text(json_t *answer, const char *name, const char *text)
{
	if (text[0])
		json_object_set_new(answer, name, json_string(text));
}

static json_t *
play_headers(struct play *p, const json_t *step)
{
	const struct rl_http_policy policy = policy_of(p);
	const struct rl_http_limit limit = {.name = p->last_rule, .result = &p->last};
	json_t *answer = json_object();
	struct rl_http_triple triple;
	int set = RL_HTTP_IETF_11;
	char text[TEXT_MAX];

	if (json_object_get(step, "set"))
		set = rl_http_set(text_of(step, "set"));
	assert_true(set >= 0);
	assert_true(rl_http_retry_after(&p->last, text, sizeof text) >= 0);
	put_text(answer, "Retry-After", text);
	assert_true(rl_http_ratelimit_policy((enum rl_http_set)set, &policy, 1, text, sizeof text) >
	            0);
	put_text(answer, "RateLimit-Policy", text);
	assert_true(rl_http_ratelimit((enum rl_http_set)set, &limit, 1, text, sizeof text) >= 0);
	put_text(answer, "RateLimit", text);
	rl_http_x_ratelimit(&p->last, RL_HTTP_RESET_UNIX, ns_of(step, "at_ns"), &triple);
	put_text(answer, "X-RateLimit-Limit", triple.limit);
	put_text(answer, "X-RateLimit-Remaining", triple.remaining);
	put_text(answer, "X-RateLimit-Reset", triple.reset);
	return answer;
}

static struct rl_http_value
value_of(const json_t *text)
{
	return (struct rl_http_value){json_string_value(text), json_string_length(text)};
}

static json_t *
play_client(struct play *p, const json_t *step)
{
	const json_t *trusted = json_object_get(step, "trusted");
	const json_t *lines = json_object_get(step, "lines");
	struct rl_http_network networks[8];
	struct rl_http_value values[8];
	struct rl_http_client client;
	struct rl_http_trust trust = {.networks = networks, .count = json_array_size(trusted)};

	(void)p;
	trust.field = (enum rl_http_field)name_find(fields, text_of(step, "field"));
	trust.prefix_v4 = number_of(step, "prefix_v4");
	trust.prefix_v6 = number_of(step, "prefix_v6");
	for (size_t i = 0; i < trust.count; i++)
		assert_int_equal(rl_http_network(json_string_value(json_array_get(trusted, i)),
		                                 &networks[i]),
		                 0);
	for (size_t i = 0; i < json_array_size(lines); i++)
		values[i] = value_of(json_array_get(lines, i));
	int done = rl_http_client(&trust, value_of(json_object_get(step, "peer")), values,
	                          json_array_size(lines), &client);
	if (done < 0)
		return done_json(done);
	return json_pack("{s:s, s:s, s:i}", "address", client.address, "end", ends[client.end],
	                 "hops", (int)client.hops);
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

/* "5/min", as a configuration has it. */
static json_t *
play_rate(struct play *p, const json_t *step)
{
	char text[TEXT_MAX];
	json_t *answer;
	int len = snprintf(text, sizeof text, "{\"rules\": {\"rate\": {\"limit\": \"%s\"}}}",
	                   text_of(step, "rate"));
	struct config *config = config_parse("rate", text, (size_t)len, hear, NULL);

	(void)p;
	if (!config)
		return done_json(-EINVAL);
	answer = json_object();
	put_number(answer, "capacity", config->rules[0].rule.limit.capacity);
	put_ns(answer, "window_ns", config->rules[0].rule.limit.window_ns);
	config_free(config);
	return answer;
}

static const struct call {
	const char *name;
	json_t *(*play)(struct play *p, const json_t *step);
} calls[] = {
	{"check", play_check},
	{"peek", play_peek},
	{"reserve", play_reserve},
	{"check_limits", play_limits},
	{"check_all", play_check_all},
	{"check_many", play_check_many},
	{"refund", play_refund},
	{"settle", play_settle},
	{"refund_key", play_refund_key},
	{"release", play_release},
	{"counter_add", play_counter},
	{"counter_get", play_counter},
	{"counter_set", play_counter},
	{"counter_set_new", play_counter},
	{"counter_touch", play_counter},
	{"counter_drop", play_counter},
	{"ban", play_ban},
	{"allow", play_ban},
	{"unban", play_ban},
	{"reset", play_reset},
	{"reset_matching", play_reset_matching},
	{"define", play_define},
	{"forget", play_forget},
	{"key_digest", play_digest},
	{"headers", play_headers},
	{"client", play_client},
	{"rate", play_rate},
};
#define CALLS (sizeof calls / sizeof calls[0])

static void
play_step(struct play *p, const char *name, size_t at, json_t *step)
{
	json_t *asked = json_object_get(step, "answer"), *answer = NULL;

	for (size_t i = 0; i < CALLS; i++)
		if (strcmp(calls[i].name, text_of(step, "call")) == 0)
			answer = calls[i].play(p, step);
	assert_non_null(answer);
	if (getenv("RL_TABLE_OUT"))
		json_object_set(step, "answer", answer);
	else if (!json_equal(asked, answer))
		fail_msg("%s, step %zu: %s; the table has %s", name, at,
		         json_dumps(answer, JSON_SORT_KEYS), json_dumps(asked, JSON_SORT_KEYS));
	json_decref(answer);
	while (p->key_count > 0)
		free(p->keys[--p->key_count]);
}

static void
play_case(const json_t *one)
{
	const json_t *options = json_object_get(one, "options");
	uint32_t ring = number_of(options, "ring");
	struct rl_options made = {.ring = ring > 0 ? ring : RL_GRANULARITY_MAX,
	                          .key_bytes = number_of(options, "key_bytes")};
	json_t *item;
	struct play p = {0};
	char text[RL_RULE_TEXT_SIZE];
	size_t i;

	assert_int_equal(rl_open_private(&made, &p.rl), 0);
	json_array_foreach(json_object_get(one, "rules"), i, item)
		assert_true(define(&p, item, text) >= 0);
	json_array_foreach(json_object_get(one, "spaces"), i, item)
		assert_true(rl_define_counters(p.rl, json_string_value(item)) >= 0);
	json_array_foreach(json_object_get(one, "steps"), i, item)
		play_step(&p, text_of(one, "name"), i, item);
	rl_close(p.rl);
}

/* A line for each rule and each step. */
static void
write_list(FILE *out, const json_t *one, const char *name)
{
	json_t *item;
	size_t i;

	if (!json_object_get(one, name))
		return;
	fprintf(out, ",\n   \"%s\": [", name);
	json_array_foreach(json_object_get(one, name), i, item)
		fprintf(out, "%s\n    %s", i ? "," : "", json_dumps(item, JSON_ENCODE_ANY));
	fprintf(out, "]");
}

static void
write_table(const json_t *cases, FILE *out)
{
	json_t *one;
	size_t i;

	assert_non_null(out);
	fprintf(out, "{\"about\": \"Calls and answers of librl: see bindings/README.md\",\n"
	             " \"version\": 1,\n \"cases\": [");
	json_array_foreach(cases, i, one)
	{
		fprintf(out, "%s\n  {\"name\": %s", i ? "," : "",
		        json_dumps(json_object_get(one, "name"), JSON_ENCODE_ANY));
		if (json_object_get(one, "options"))
			fprintf(out, ",\n   \"options\": %s",
			        json_dumps(json_object_get(one, "options"), 0));
		write_list(out, one, "rules");
		write_list(out, one, "spaces");
		write_list(out, one, "steps");
		fprintf(out, "}");
	}
	fprintf(out, "]}\n");
	assert_int_equal(fclose(out), 0);
}

static json_t *
load(void)
{
	json_error_t error;
	json_t *table = json_load_file(TABLE, JSON_REJECT_DUPLICATES, &error);

	if (!table)
		fail_msg("%s:%d: %s", TABLE, error.line, error.text);
	return table;
}

static void
test_table(void **state)
{
	json_t *table = load(), *cases = json_object_get(table, "cases"), *one;
	size_t i;

	(void)state;
	assert_true(json_array_size(cases) > 0);
	json_array_foreach(cases, i, one) play_case(one);
	if (getenv("RL_TABLE_OUT"))
		write_table(cases, fopen(getenv("RL_TABLE_OUT"), "w"));
	json_decref(table);
}

/* Each call that a binding has to have is in the table. */
static void
test_calls(void **state)
{
	json_t *table = load(), *one, *step;
	size_t i, j, seen[CALLS] = {0};

	(void)state;
	json_array_foreach(json_object_get(table, "cases"), i, one) json_array_foreach(
		json_object_get(one, "steps"), j, step) for (size_t c = 0; c < CALLS; c++)
		seen[c] += strcmp(calls[c].name, text_of(step, "call")) == 0;
	for (size_t c = 0; c < CALLS; c++)
		if (seen[c] == 0)
			fail_msg("%s: no step calls %s", TABLE, calls[c].name);
	json_decref(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
