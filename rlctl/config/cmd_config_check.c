/* SPDX-License-Identifier: BSD-2-Clause */
/* config check: is the file one that could be put into force? */

#include <inttypes.h>
#include <model/client_network.h>
#include <model/limit.h>
#include <show/show.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>
#include <text/file.h>

#include "base/output.h"
#include "config/config_verb.h"

#define NOTES_SHOWN 10

struct outcome {
	json_t *problems; /* NULL: say them at once */
	size_t notes;
};

static const char *
level_name(enum config_level level)
{
	if (level == CONFIG_NOTE)
		return "note";
	return level == CONFIG_ERROR ? "error" : "warning";
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	struct outcome *outcome = arg;
	json_t *problem;

	if (!outcome->problems) {
		config_say(level, text, NULL);
		return;
	}
	if (level == CONFIG_DETAIL)
		return;
	problem = need(json_object());
	json_put(problem, "level", json_text(level_name(level)));
	json_put(problem, "text", json_text(text));
	json_push(outcome->problems, problem);
}

/* The largest that the limit is for any key. */
static uint32_t
largest_capacity(const struct rl_config_rule *rule, size_t i)
{
	uint32_t most = config_limit(&rule->rule, i)->capacity;

	for (size_t j = 0; j < rule->override_count; j++)
		if (rule->overrides[j].capacity[i] > most)
			most = rule->overrides[j].capacity[i];
	return most;
}

/* Would a log of every request take no more than each key has anyway? */
static bool
log_fits(const struct config *config, const struct rl_config_rule *rule, size_t i)
{
	const struct rl_limit log = {.algorithm = RL_SLIDING_LOG,
	                             .window_ns = config_limit(&rule->rule, i)->window_ns,
	                             .capacity = largest_capacity(rule, i)};

	return config_limit(&rule->rule, i)->algorithm == RL_SLIDING_WINDOW &&
	       config_limit(&rule->rule, i)->prefetch == 0 &&
	       limit_entries(&log) <= config_options(config).ring;
}

static void
note_log(const struct config *config, const struct rl_config_rule *rule, size_t i,
         struct outcome *outcome)
{
	const struct rl_limit *limit = config_limit(&rule->rule, i);
	char number[32] = "", text[RL_NAME_MAX + 256];

	if (!outcome->problems && ++outcome->notes > NOTES_SHOWN)
		return;
	if (rule->rule.more_count > 0)
		snprintf(number, sizeof(number), ", limit %zu", i + 1);
	snprintf(text, sizeof(text),
	         "%s%s: %" PRIu32 " per %s: \"algorithm\": \"sliding_log\" would be exact in the "
	         "same memory, for its requests fit the ring of %" PRIu32,
	         rule->rule.name, number, limit->capacity, duration_format(limit->window_ns).text,
	         config_options(config).ring);
	hear(CONFIG_NOTE, text, outcome);
}

/* Advice: it could be better, and is no mistake. */
static void
note_logs(const struct config *config, struct outcome *outcome)
{
	for (size_t i = 0; config && i < config->rule_count; i++)
		for (size_t j = 0; j < config_limit_count(&config->rules[i].rule); j++)
			if (log_fits(config, &config->rules[i], j))
				note_log(config, &config->rules[i], j, outcome);
	if (outcome->notes > NOTES_SHOWN)
		printf("and %zu more limits of which the same is true\n",
		       outcome->notes - NOTES_SHOWN);
}

static void
note_override(const struct rl_config_rule *rule, const struct rl_override *override,
              const char *network, struct outcome *outcome)
{
	char text[RL_NAME_MAX + RL_KEY_MAX + 256];

	snprintf(
		text, sizeof(text),
		"%s: override %.*s: a client of IPv6 is counted by its /64, whose key that is not, "
		"but where keys are whole addresses: say %s",
		rule->rule.name, (int) override->pattern.key_len,
		(const char *) override->pattern.key, network);
	hear(CONFIG_NOTE, text, outcome);
}

/* Overrides of less than the network that a client has. */
static void
note_clients(const struct config *config, struct outcome *outcome)
{
	char network[CLIENT_NETWORK_MAX];
	size_t notes = 0;

	for (size_t i = 0; config && i < config->rule_count; i++)
		for (size_t j = 0; j < config->rules[i].override_count; j++) {
			const struct rl_override *override = &config->rules[i].overrides[j];

			if (!client_network(&override->pattern, network))
				continue;
			if (outcome->problems || notes < NOTES_SHOWN)
				note_override(&config->rules[i], override, network, outcome);
			notes++;
		}
	if (!outcome->problems && notes > NOTES_SHOWN)
		printf("and %zu more overrides of which the same is true\n", notes - NOTES_SHOWN);
}

#define SOME_HOSTS 10

/* What all hosts of a cluster may admit of one limit together. */
static void
note_bound(const char *rule, const struct rl_limit *limit, struct outcome *outcome)
{
	char text[RL_NAME_MAX + 256];
	uint64_t all = limit->capacity + limit_blind_of_all(limit, SOME_HOSTS);

	if (limit->blind == RL_BLIND_AUTO)
		snprintf(text, sizeof(text),
		         "%s: %" PRIu32 " per %s: all hosts together admit at most 5 %% more, "
		         "however many there are%s",
		         rule, limit->capacity, duration_format(limit->window_ns).text,
		         all > limit->capacity ? "" : "; 10 ask before they admit");
	else
		snprintf(text, sizeof(text),
		         "%s: %" PRIu32 " per %s: all hosts together admit at most %" PRIu32
		         " for each host more: %d hosts up to %" PRIu64 "%s",
		         rule, limit->capacity, duration_format(limit->window_ns).text,
		         limit->blind, SOME_HOSTS, all,
		         limit_follows_hosts(limit) ? "" : "; 10m is the most for \"auto\"");
	hear(CONFIG_NOTE, text, outcome);
}

static void
note_bounds(const struct config *config, struct outcome *outcome)
{
	size_t notes = 0;

	for (size_t i = 0; config && i < config->rule_count; i++)
		for (size_t j = 0; j < config_limit_count(&config->rules[i].rule); j++) {
			const struct rl_limit *limit = config_limit(&config->rules[i].rule, j);

			if (limit->scope != RL_SCOPE_CLUSTER || limit->blind == 0)
				continue;
			if (outcome->problems || notes < NOTES_SHOWN)
				note_bound(config->rules[i].rule.name, limit, outcome);
			notes++;
		}
	if (!outcome->problems && notes > NOTES_SHOWN)
		printf("and %zu more limits of a cluster\n", notes - NOTES_SHOWN);
}

struct counts {
	uint64_t rules, limits, overrides;
};

static struct counts
count(const struct config *config)
{
	struct counts counts = {0};

	for (size_t i = 0; config && i < config->rule_count; i++) {
		counts.rules++;
		counts.limits += config_limit_count(&config->rules[i].rule);
		counts.overrides += config->rules[i].override_count;
	}
	return counts;
}

static void
write_json(const char *path, const struct config *config, struct outcome *outcome)
{
	struct counts counts = count(config);
	json_t *root = need(json_object());

	json_put(root, "file", json_text(path));
	json_put(root, "valid", json_boolean(config != NULL));
	json_put(root, "problems", outcome->problems);
	json_put(root, "rules", json_count(counts.rules));
	json_put(root, "limits", json_count(counts.limits));
	json_put(root, "overrides", json_count(counts.overrides));
	output_json(root);
}

static void
write_text(const char *path, const struct config *config)
{
	struct counts counts = count(config);

	if (config)
		printf("%s: valid: rules %" PRIu64 ", limits %" PRIu64 ", overrides %" PRIu64 "\n",
		       path, counts.rules, counts.limits, counts.overrides);
}

static struct config *
check_stdin(struct outcome *outcome, int *status)
{
	struct config *config;
	char *text;
	size_t len;
	int error = file_read_fd(fileno(stdin), CONFIG_BYTES_MAX, &text, &len);

	if (error < 0) {
		complain("stdin: %s", config_read_error(error));
		*status = EXIT_TROUBLE;
		return NULL;
	}
	config = config_parse_to_check("stdin", text, len, hear, outcome);
	free(text);
	*status = config ? EXIT_YES : EXIT_NO;
	return config;
}

static struct config *
check_file(const char *path, struct outcome *outcome, int *status)
{
	struct config *config = NULL;

	*status = EXIT_TROUBLE;
	if (config_is_readable(path)) {
		config = config_load_to_check(path, hear, outcome);
		*status = config ? EXIT_YES : EXIT_NO;
	}
	return config;
}

int
config_check(const struct context *context)
{
	const char *path = context->operand_count > 0 ? context->operands[0] : config_file(context);
	bool is_json = option_value(context, "json") != NULL;
	bool is_stdin = strcmp(path, "-") == 0;
	struct outcome outcome = {is_json ? need(json_array()) : NULL, 0};
	int status;
	struct config *config =
		is_stdin ? check_stdin(&outcome, &status) : check_file(path, &outcome, &status);

	path = is_stdin ? "stdin" : path;
	if (!is_json)
		write_text(path, config);
	note_logs(config, &outcome);
	note_clients(config, &outcome);
	note_bounds(config, &outcome);
	if (is_json && status == EXIT_TROUBLE)
		json_decref(outcome.problems);
	else if (is_json)
		write_json(path, config, &outcome);
	config_free(config);
	return status;
}
