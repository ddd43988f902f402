/* SPDX-License-Identifier: BSD-2-Clause */
/* config check: is the file one that could be put into force? */

#include <file.h>
#include <inttypes.h>
#include <show.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_verb.h"
#include "output.h"

struct outcome {
	json_t *problems; /* NULL: say them at once */
};

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
	json_put(problem, "level", json_text(level == CONFIG_ERROR ? "error" : "warning"));
	json_put(problem, "text", json_text(text));
	json_push(outcome->problems, problem);
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
config_check(const struct context *context, char **operands)
{
	const char *path = context->operand_count > 1 ? operands[0] : config_file(context);
	bool is_json = option_value(context, "json") != NULL;
	bool is_stdin = strcmp(path, "-") == 0;
	struct outcome outcome = {is_json ? need(json_array()) : NULL};
	int status;
	struct config *config =
		is_stdin ? check_stdin(&outcome, &status) : check_file(path, &outcome, &status);

	path = is_stdin ? "stdin" : path;
	if (status == EXIT_TROUBLE)
		json_decref(outcome.problems);
	else if (is_json)
		write_json(path, config, &outcome);
	else
		write_text(path, config);
	config_free(config);
	return status;
}
