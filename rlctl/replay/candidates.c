/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/candidates.h"

#include <jansson.h>
#include <load/load.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/output.h"
#include "text/calendar.h"
#include "text/duration.h"
#include "text/names.h"

#define OWN_RULE "replay"

static bool
read_algorithm(const struct context *context, enum rl_algorithm *algorithm)
{
	const char *name = option_value(context, "algorithm");

	*algorithm = RL_SLIDING_WINDOW;
	if (!name || algorithm_find(name, algorithm))
		return true;
	complain("--algorithm: unknown algorithm '%s'; see 'rl-replay --help'", name);
	return false;
}

static bool
read_duration(const char *option, const char *text, uint64_t *ns)
{
	const char *wrong = duration_parse(text, ns);

	if (wrong)
		complain("%s: '%s' %s", option, text, wrong);
	return !wrong;
}

bool
window_read(const struct context *context, uint64_t *window_ns)
{
	const char *text = option_value(context, "window"), *why;

	if (!text) {
		complain("--window is missing");
		return false;
	}
	why = calendar_refuse(text);
	if (why) {
		complain("--window: '%s': %s", text, why);
		return false;
	}
	if (!read_duration("--window", text, window_ns))
		return false;
	if (*window_ns >= RL_WINDOW_MIN && *window_ns <= RL_WINDOW_MAX)
		return true;
	complain("--window: '%s' is not from %s to %s", text, duration_format(RL_WINDOW_MIN).text,
	         duration_format(RL_WINDOW_MAX).text);
	return false;
}

static bool
check_granularity(const char *text, enum rl_algorithm algorithm, uint64_t window_ns,
                  uint64_t bucket_ns)
{
	if (bucket_ns == 0 || bucket_ns > window_ns || window_ns % bucket_ns != 0)
		complain("--granularity: the window is not a whole multiple of '%s'", text);
	else if (window_ns / bucket_ns > RL_GRANULARITY_MAX)
		complain("--granularity: '%s' makes more than %d sub-buckets", text,
		         RL_GRANULARITY_MAX);
	else if (algorithm != RL_SLIDING_WINDOW && bucket_ns != window_ns)
		complain("--granularity: %s has no sub-buckets", algorithm_name(algorithm));
	else
		return true;
	return false;
}

/* A limit that is given by parts has one sub-bucket unless it says otherwise. */
static bool
put_granularity(const struct context *context, enum rl_algorithm algorithm, uint64_t window_ns,
                json_t *limit)
{
	const char *text = option_value(context, "granularity");
	uint64_t bucket_ns = window_ns;

	if (text && (!read_duration("--granularity", text, &bucket_ns) ||
	             !check_granularity(text, algorithm, window_ns, bucket_ns)))
		return false;
	json_put(limit, "granularity", json_count(window_ns / bucket_ns));
	return true;
}

static bool
put_capacity(const struct context *context, enum rl_algorithm algorithm, json_t *limit)
{
	const char *text = option_value(context, "capacity");
	uint64_t capacity;

	if (!text) {
		complain("--capacity is missing, or --limit, or --rule");
		return false;
	}
	if (!number_need("--capacity", text, 1, RL_CAPACITY_MAX, &capacity))
		return false;
	if (algorithm == RL_SLIDING_LOG && capacity > RL_LOG_MAX) {
		complain("--capacity: sliding_log holds up to %d", RL_LOG_MAX);
		return false;
	}
	json_put(limit, "capacity", json_count(capacity));
	return true;
}

static bool
put_burst(const struct context *context, enum rl_algorithm algorithm, json_t *limit)
{
	const char *text = option_value(context, "burst");
	uint64_t least = algorithm == RL_TOKEN_BUCKET ? 1 : 0, burst;

	if (!text)
		return true;
	if (algorithm != RL_TOKEN_BUCKET && algorithm != RL_LEAKY_BUCKET) {
		complain("--burst: %s has none", algorithm_name(algorithm));
		return false;
	}
	if (!number_need("--burst", text, least, RL_CAPACITY_MAX - 1, &burst))
		return false;
	json_put(limit, "burst", json_count(burst));
	return true;
}

/* The options that hold for every limit of the command line. */
static bool
put_common(const struct context *context, json_t *limit, enum rl_algorithm *algorithm)
{
	if (!read_algorithm(context, algorithm))
		return false;
	if (option_value(context, "algorithm"))
		json_put(limit, "algorithm", json_text(algorithm_name(*algorithm)));
	if (option_value(context, "hard") && *algorithm != RL_SLIDING_WINDOW) {
		complain("--hard: only sliding_window can be hard");
		return false;
	}
	if (option_value(context, "hard"))
		json_put(limit, "hard", json_true());
	return put_burst(context, *algorithm, limit);
}

/* "--limit:1:30: /rules/replay/limit: expected ..." without what nobody has written. */
static void
report_own(enum config_level level, const char *text, void *arg)
{
	const char *place = strstr(text, ": /rules/" OWN_RULE);
	const char *what = place ? strstr(place + 2, ": ") : NULL;

	if (level == CONFIG_ERROR)
		complain("%s%s", (const char *)arg, what ? what : text);
}

static void
report_file(enum config_level level, const char *text, void *arg)
{
	(void)arg;
	if (level != CONFIG_DETAIL && level != CONFIG_NOTE)
		complain("%s", text);
}

/* A configuration that has this limit alone. Takes `limit`. */
static bool
make_own(struct candidate *candidate, const char *option, json_t *limit)
{
	json_t *rules = need(json_object()), *root = need(json_object());
	char *text;

	json_put(rules, OWN_RULE, limit);
	json_put(root, "rules", rules);
	text = need(json_dumps(root, JSON_COMPACT));
	candidate->config = config_parse(option, text, strlen(text), report_own, (void *)option);
	free(text);
	json_decref(root);
	if (candidate->config)
		candidate->rule = &candidate->config->rules[0];
	return candidate->config != NULL;
}

static bool
read_parts(const struct context *context, struct candidate *candidate)
{
	json_t *limit = need(json_object());
	enum rl_algorithm algorithm;
	uint64_t window_ns;

	if (put_common(context, limit, &algorithm) && put_capacity(context, algorithm, limit) &&
	    window_read(context, &window_ns)) {
		json_put(limit, "window", json_text(duration_exact(window_ns).text));
		if (put_granularity(context, algorithm, window_ns, limit))
			return make_own(candidate, "--capacity", limit);
	}
	json_decref(limit);
	return false;
}

/* A rate, or with a brace in front all that a configuration may say of a limit. */
static bool
read_limit(const struct context *context, const char *text, int at, struct candidate *candidate)
{
	json_t *limit = *text == '{' ? json_loads(text, 0, NULL) : need(json_object());
	const char *granularity = option_value(context, "granularity");
	enum rl_algorithm algorithm;

	(void)at;
	candidate->label = text;
	if (!json_is_object(limit)) {
		complain("--limit: '%s' is no JSON object", text);
		json_decref(limit);
		return false;
	}
	if (*text != '{')
		json_put(limit, "limit", json_text(text));
	if (!put_common(context, limit, &algorithm)) {
		json_decref(limit);
		return false;
	}
	if (granularity)
		json_put(limit, "granularity", json_text(granularity));
	return make_own(candidate, "--limit", limit);
}

static const struct rl_config_rule *
find_rule(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->rule_count; i++)
		if (strcmp(config->rules[i].rule.name, name) == 0)
			return &config->rules[i];
	complain("--rule: %s has no rule '%s'", config->path, name);
	return NULL;
}

static int
count_of(const struct context *context, const char *option)
{
	int count = 0;

	for (int at = 0; option_next(context, option, &at);)
		count++;
	return count;
}

/* A configuration is that of the rules behind it; one alone, of all. */
static bool
config_of(const struct context *context, const char *rule, int at, const char **path)
{
	*path = option_value(context, "config");
	if (count_of(context, "config") <= 1)
		return true;
	*path = option_before(context, "config", at);
	if (!*path)
		complain("--rule: of several --config, none stands before '%s'", rule);
	return *path != NULL;
}

/* No configuration is given for nothing: of several, each has a rule before the next. */
static bool
check_configs(const struct context *context)
{
	int at = 0, rule_at = 0, many = count_of(context, "config");

	for (const char *path; many > 1 && (path = option_next(context, "config", &at));) {
		const char *its = NULL;

		while (its != path && option_next(context, "rule", &rule_at))
			its = option_before(context, "config", rule_at);
		if (its != path) {
			complain("--config: no --rule stands behind '%s'", path);
			return false;
		}
	}
	return true;
}

static bool
read_rule(const struct context *context, const char *name, int at, struct candidate *candidate)
{
	const char *given, *path;

	if (!config_of(context, name, at, &given))
		return false;
	path = config_path(given);
	candidate->label = name;
	if (count_of(context, "config") > 1) {
		if (asprintf(&candidate->label_own, "%s of %s", name, path) < 0)
			candidate->label_own = NULL;
		candidate->label = need(candidate->label_own);
	}
	candidate->config = config_load(path, report_file, NULL);
	if (candidate->config) {
		config_join(candidate->config); /* whose requests these are, a log does not say */
		candidate->rule = find_rule(candidate->config, name);
	}
	return candidate->rule != NULL;
}

/* Without --rule, a configuration's one and only. */
static bool
read_only_rule(const struct context *context, struct candidate *candidate)
{
	const char *path = config_path(option_value(context, "config"));

	candidate->config = config_load(path, report_file, NULL);
	if (!candidate->config)
		return false;
	if (candidate->config->rule_count != 1) {
		complain("%s has %zu rules: --rule NAME says which", path,
		         candidate->config->rule_count);
		return false;
	}
	config_join(candidate->config);
	candidate->rule = &candidate->config->rules[0];
	candidate->label = candidate->rule->rule.name;
	return true;
}

typedef bool read_candidate(const struct context *, const char *, int, struct candidate *);

static bool
read_each(const struct context *context, const char *option, read_candidate *read,
          struct candidate *candidates, size_t *count)
{
	int at = 0;

	for (const char *text; (text = option_next(context, option, &at));) {
		if (*count == CANDIDATES_MAX) {
			complain("--%s: at most %d limits and rules are tried at once", option,
			         CANDIDATES_MAX);
			return false;
		}
		if (!read(context, text, at, &candidates[(*count)++]))
			return false;
	}
	return true;
}

static size_t
read_all(const struct context *context, struct candidate candidates[CANDIDATES_MAX])
{
	size_t count = 0;

	if (option_value(context, "capacity")) {
		candidates[count].label = "--capacity";
		if (!read_parts(context, &candidates[count++]))
			return 0;
	}
	if (!read_each(context, "limit", read_limit, candidates, &count) ||
	    !read_each(context, "rule", read_rule, candidates, &count))
		return 0;
	if (count > 0)
		return count;
	if (option_value(context, "config"))
		return read_only_rule(context, &candidates[0]);
	return read_parts(context, &candidates[0]);
}

/* A log of requests does not say how long each of them took. */
static bool
can_be_replayed(const struct candidate *candidate)
{
	const struct rl_rule *rule = &candidate->rule->rule;

	for (size_t i = 0; i < config_limit_count(rule); i++)
		if (config_limit(rule, i)->algorithm == RL_IN_FLIGHT) {
			complain("%s: how long a request is in flight is not recorded",
			         candidate->label);
			return false;
		}
	return true;
}

size_t
candidates_read(const struct context *context, struct candidate candidates[CANDIDATES_MAX])
{
	size_t count = check_configs(context) ? read_all(context, candidates) : 0;

	for (size_t i = 0; i < count; i++)
		if (candidates[i].rule && !can_be_replayed(&candidates[i]))
			return 0;
	return count;
}

static bool
take_rule(struct config **config, const char *name, const char *when, const char *number,
          struct candidate *candidate)
{
	candidate->config = *config;
	*config = NULL;
	config_join(candidate->config);
	candidate->rule = find_rule(candidate->config, name);
	if (asprintf(&candidate->label_own, "%s %s change %s", name, when, number) < 0)
		candidate->label_own = NULL;
	candidate->label = need(candidate->label_own);
	return candidate->rule && can_be_replayed(candidate);
}

size_t
candidates_of_change(const struct context *context, struct since_change *change,
                     struct candidate candidates[CANDIDATES_MAX])
{
	const char *name = option_value(context, "rule");

	if (count_of(context, "rule") != 1 || count_of(context, "config") > 1) {
		complain("--since-change: one --rule says which rule is compared, and one --config "
		         "at most in which file");
		return 0;
	}
	return take_rule(&change->before, name, "before", change->text, &candidates[0]) &&
	                       take_rule(&change->after, name, "since", change->text,
	                                 &candidates[1])
	               ? 2
	               : 0;
}
