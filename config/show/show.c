/* SPDX-License-Identifier: BSD-2-Clause */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limit.h"
#include "model/option.h"
#include "model/pattern_text.h"
#include "read/source.h"
#include "show/show.h"
#include "text/duration.h"
#include "text/names.h"

/* json_object_set_new() refuses NULL, so one missing value makes *error -1. */
static void
put(json_t *object, const char *name, json_t *value, int *error)
{
	*error |= json_object_set_new(object, name, value);
}

static void
put_count(json_t *object, const char *name, uint64_t value, int *error)
{
	put(object, name, json_integer((json_int_t)value), error);
}

static void
put_duration(json_t *object, const char *name, uint64_t ns, int *error)
{
	put(object, name, json_string(duration_exact(ns).text), error);
}

static void
put_text(json_t *object, const char *name, const char *text, int *error)
{
	if (text)
		put(object, name, json_string(text), error);
}

static json_t *
checked(json_t *json, int error)
{
	if (error == 0)
		return json;
	json_decref(json);
	return NULL;
}

/* Of the overflow area what is said or has a default. */
static void
put_option(json_t *object, const struct config *config, const struct rl_options *o,
           const struct rl_field *field, int *error)
{
	uint64_t number = option_number(field, o);

	if (field->offset == offsetof(struct rl_options, group))
		put_text(object, field->word, config->group, error);
	else if (field->kind != RL_FIELD_COUNT)
		put_text(object, field->word, option_format(field, o).text, error);
	else if (number > 0 || !(field->marks & RL_FIELD_RESERVE))
		put_count(object, field->word, number, error);
}

static json_t *
segment_json(const struct config *config)
{
	struct rl_options o = config_options(config);
	const struct rl_field *field;
	json_t *object = json_object();
	int error = 0;

	put(object, "name", json_string(config->name), &error);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (!(field->marks & RL_FIELD_NOT_IN_FILES) && i != SEGMENT_buffer_ns)
			put_option(object, config, &o, field, &error);
	if (config->keys_most > 0)
		put_count(object, "keys_most", config->keys_most, &error);
	put(object, "huge_pages", json_boolean(o.flags & RL_OPEN_HUGE_PAGES), &error);
	return checked(object, error);
}

static json_t *
gc_json(const struct config *config)
{
	json_t *object = json_object();
	int error = 0;

	put_duration(object, "interval", config->gc_interval_ns, &error);
	put_duration(object, "buffer", config_options(config).buffer_ns, &error);
	return checked(object, error);
}

/* A field that the limit has no use for is left out, and so is a duration of 0, its default. */
static bool
is_said(const struct rl_field *field, const struct rl_limit *limit)
{
	bool is_of_cluster = field->marks & RL_FIELD_CLUSTER ||
	                     field->offset == offsetof(struct rl_limit, scope);

	if (field->needs && !(algorithm_info(limit->algorithm)->flags & field->needs))
		return false;
	if ((field->marks & RL_FIELD_NETWORK || field->kind == RL_FIELD_DURATION) &&
	    rl_field_get(field, limit) == 0)
		return false;
	return !is_of_cluster || limit->scope == RL_SCOPE_CLUSTER;
}

static int
put_limit(json_t *object, const struct rl_limit *limit)
{
	const struct rl_field *field;
	int error = 0;

	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++) {
		uint64_t value = rl_field_get(field, limit);

		if (!is_said(field, limit))
			continue;
		if (field->offset == offsetof(struct rl_limit, blind) && value == 0)
			put(object, "strict", json_true(), &error);
		else if (field->offset == offsetof(struct rl_limit, blind) &&
		         value == RL_BLIND_AUTO)
			put(object, field->word, json_string("auto"), &error);
		else if (field->offset == offsetof(struct rl_limit, wait_ns) &&
		         value == RL_WAIT_NONE)
			put(object, field->word, json_string("none"), &error);
		else if (field->words)
			put(object, field->word, json_string(field->words[value]), &error);
		else if (field->kind == RL_FIELD_FLAG)
			put(object, field->word, json_boolean(value), &error);
		else if (field->kind == RL_FIELD_DURATION)
			put_duration(object, field->word, value, &error);
		else
			put_count(object, field->word, value, &error);
	}
	return error;
}

static int
put_limits(json_t *object, const struct rl_rule *rule)
{
	bool has_prefixes = rule->limit.prefix_v4 || rule->limit.prefix_v6;
	json_t *array;
	int error = 0;

	if (!has_prefixes && rule->more_count == 0)
		return put_limit(object, &rule->limit);
	array = json_array();
	for (size_t i = 0; i < config_limit_count(rule); i++) {
		json_t *element = json_object();

		error |= put_limit(element, config_limit(rule, i));
		error |= json_array_append_new(array, element);
	}
	put(object, has_prefixes ? "prefixes" : "limits", array, &error);
	return error;
}

static json_t *
capacity_json(const struct rl_override *override, size_t limit_count)
{
	json_t *array;
	int error = 0;

	if (limit_count == 1 && override->capacity[0] > 0)
		return json_integer(override->capacity[0]);
	array = json_array();
	for (size_t i = 0; i < limit_count; i++)
		error |= json_array_append_new(array, override->capacity[i]
		                                              ? json_integer(override->capacity[i])
		                                              : json_null());
	return checked(array, error);
}

bool
config_is_exact(const struct rl_pattern *pattern)
{
	struct pattern_text read;

	return pattern->match == RL_MATCH_KEY &&
	       (pattern_parse(pattern->key, pattern->key_len, &read) ||
	        read.pattern.match != RL_MATCH_KEY || read.pattern.key_len != pattern->key_len ||
	        memcmp(read.pattern.key, pattern->key, pattern->key_len) != 0);
}

json_t *
config_override_json(const struct rl_override *override, size_t limit_count)
{
	json_t *object = json_object();
	int error = 0;

	if (override->kind == RL_OVERRIDE_BANNED)
		put(object, "banned", json_true(), &error);
	else if (override->kind == RL_OVERRIDE_UNLIMITED)
		put(object, "unlimited", json_true(), &error);
	else
		put(object, "capacity", capacity_json(override, limit_count), &error);
	if (config_is_exact(&override->pattern))
		put(object, "exact", json_true(), &error);
	return checked(object, error);
}

char *
config_pattern_text(const struct rl_pattern *pattern)
{
	char *text;

	if (asprintf(&text, "%.*s%s", (int)pattern->key_len, (const char *)pattern->key,
	             pattern->match == RL_MATCH_PREFIX ? "*" : "") < 0)
		return NULL;
	return text;
}

static json_t *
overrides_json(const struct rl_config_rule *rule)
{
	json_t *object = json_object();
	int error = 0;

	for (size_t i = 0; i < rule->override_count; i++) {
		const struct rl_override *override = &rule->overrides[i];
		char *name = config_pattern_text(&override->pattern);

		if (name)
			put(object, name,
			    config_override_json(override, config_limit_count(&rule->rule)),
			    &error);
		error |= name ? 0 : -1;
		free(name);
	}
	return checked(object, error);
}

static json_t *
ban_json(const struct rl_auto_ban *ban)
{
	json_t *object = json_object();
	int error = 0;

	put_count(object, "after", ban->after, &error);
	put(object, "within", json_string(duration_exact(ban->within_ns).text), &error);
	put(object, "for", json_string(duration_exact(ban->for_ns).text), &error);
	put_count(object, "longer", ban->longer, &error);
	put(object, "at_most", json_string(duration_exact(ban->at_most_ns).text), &error);
	return checked(object, error);
}

static json_t *
rule_json(const struct rl_config_rule *rule)
{
	json_t *object = json_object();
	int error = put_limits(object, &rule->rule);

	if (rule->ban.after > 0)
		put(object, "ban", ban_json(&rule->ban), &error);
	if (rule->override_count > 0)
		put(object, "overrides", overrides_json(rule), &error);
	return checked(object, error);
}

static json_t *
nodes_json(const struct config_cluster *c)
{
	json_t *array = json_array();
	int error = 0;

	for (size_t i = 0; i < c->node_count; i++) {
		const char *host = c->nodes[i].host;
		bool is_v6 = strchr(host, ':') != NULL;
		char *text;

		if (asprintf(&text, "%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
		             (unsigned)c->nodes[i].port) < 0)
			return checked(array, -1);
		error |= json_array_append_new(array, json_string(text));
		free(text);
	}
	return checked(array, error);
}

static json_t *
cluster_json(const struct config_cluster *c)
{
	json_t *object = json_object(), *tls = c->has_tls ? json_object() : NULL;
	int error = 0;

	put(object, "nodes", nodes_json(c), &error);
	put_text(object, "sentinel", c->sentinel, &error);
	if (tls) {
		put_text(tls, "ca", c->tls_ca, &error);
		put_text(tls, "cert", c->tls_cert, &error);
		put_text(tls, "key", c->tls_key, &error);
		put_text(tls, "server_name", c->tls_server_name, &error);
		put(object, "tls", tls, &error);
	}
	put_text(object, "user", c->user, &error);
	put_text(object, "password_file", c->password_file, &error);
	put_text(object, "secret_file", c->secret_file, &error);
	put_duration(object, "timeout", c->timeout_ns, &error);
	put_duration(object, "lease", c->lease_ns, &error);
	put(object, "rules", json_string(c->has_shared_rules ? "shared" : "local"), &error);
	put(object, "without_replica", json_string(c->lends_without_replica ? "lend" : "deny"),
	    &error);
	return checked(object, error);
}

json_t *
config_json(const struct config *config)
{
	json_t *root = json_object(), *rules = json_object();
	int error = 0;

	put(root, "segment", segment_json(config), &error);
	if (config->cluster.is_there)
		put(root, "cluster", cluster_json(&config->cluster), &error);
	put(root, "gc", gc_json(config), &error);
	for (size_t i = 0; i < config->rule_count; i++)
		put(rules, config->rules[i].rule.name, rule_json(&config->rules[i]), &error);
	put(root, "rules", rules, &error);
	return checked(root, error);
}
