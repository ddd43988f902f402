/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get: what one key has used of each limit of a rule, or of every rule, its active bans and
 * overrides, and hence why it is answered as it is.
 */

#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/explain.h"

static int
report(const struct context *context, struct rl *rl, const struct explanation *explanation)
{
	if (!explanation_has_anything(explanation)) {
		complain("rule '%s' has no counter for this key", explanation->decision.rule);
		return EXIT_NO;
	}
	if (option_value(context, "json"))
		output_json(explanation_json(rl, explanation));
	else
		explanation_print(stdout, rl, explanation);
	return EXIT_YES;
}

static int
get_under(const struct context *context, struct rl *rl, const struct key_view *key)
{
	int rule = rule_need(rl, context->operands[0]), error, status;
	struct explanation explanation;

	if (rule < 0)
		return EXIT_TROUBLE;
	error = explain(rl, rule, key, &explanation);
	if (error < 0)
		complain("key: %s", rl_strerror(error));
	status = error < 0 ? EXIT_TROUBLE : report(context, rl, &explanation);
	explanation_free(&explanation);
	return status;
}

/* Told one by one as text, or gathered for JSON. */
struct reporting {
	struct rl *rl;
	json_t *rules; /* or NULL */
	size_t count;
};

static void
report_next(struct reporting *reporting, const struct explanation *explanation)
{
	if (reporting->rules) {
		json_push(reporting->rules, explanation_json(reporting->rl, explanation));
	} else {
		fputs(reporting->count > 0 ? "\n\n" : "", stdout);
		explanation_print(stdout, reporting->rl, explanation);
	}
	reporting->count++;
}

/* A key that is no address is no key of a rule with prefixes. */
static void
report_under(struct reporting *reporting, int rule, const struct key_view *key)
{
	struct explanation explanation;
	int error = explain(reporting->rl, rule, key, &explanation);

	if (error < 0 && error != RL_EADDRESS)
		complain("key: %s", rl_strerror(error));
	if (error == 0 && explanation_has_anything(&explanation))
		report_next(reporting, &explanation);
	explanation_free(&explanation);
}

static void
write_json(const struct key_view *key, json_t *rules)
{
	json_t *root = need(json_object());

	json_put_key(root, key);
	json_put(root, "rules", rules);
	output_json(root);
}

/* An admin need not know which rule refuses a customer. */
static int
get_everywhere(const struct context *context, struct rl *rl, const struct key_view *key)
{
	bool is_json = option_value(context, "json") != NULL;
	struct reporting reporting = {.rl = rl, .rules = is_json ? need(json_array()) : NULL};
	struct rl_rule_info rule;
	struct rl_info info;

	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules; id++)
		if (rule_read(rl, (int)id, &rule))
			report_under(&reporting, rule.handle, key);
	if (is_json)
		write_json(key, reporting.rules);
	if (reporting.count == 0)
		complain("no rule has a counter for this key");
	return reporting.count > 0 ? EXIT_YES : EXIT_NO;
}

int
run_get(const struct context *context)
{
	bool has_rule = context->operand_count > 1;
	const char *text = context->operands[has_rule];
	struct key_view key = {text, strlen(text), strlen(text), 0};
	struct rl *rl = key_need(key.len) ? open_segment(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = has_rule ? get_under(context, rl, &key) : get_everywhere(context, rl, &key);
	rl_close(rl);
	return status;
}
