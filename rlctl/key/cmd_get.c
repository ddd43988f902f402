/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get: what one key has used of each limit of a rule, its active bans and overrides, and hence why
 * it is answered as it is. Without a rule, first a line for each that knows the key.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/answer_line.h"
#include "key/explain.h"
#include "text/error_text.h"

const struct command_option get_options[] = {
	{"verbose", 'v', NULL, "all that is known: under each rule, and each sub-bucket"},
	{0},
};

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
		explanation_print(stdout, rl, explanation, option_value(context, "verbose"));
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
		complain("key: %s", error_text(error).text);
	status = error < 0 ? EXIT_TROUBLE : report(context, rl, &explanation);
	explanation_free(&explanation);
	return status;
}

/* Under each rule that knows the key. */
struct everywhere {
	struct explanation *items;
	size_t count;
};

/* A key that is no address is no key of a rule with prefixes. */
static void
add_under(struct rl *rl, int rule, const struct key_view *key, struct everywhere *all)
{
	struct explanation *next = &all->items[all->count];
	int error = explain(rl, rule, key, next);

	if (error < 0 && error != RL_EADDRESS)
		complain("key: %s", error_text(error).text);
	if (error == 0 && explanation_has_anything(next))
		all->count++;
	else
		explanation_free(next);
}

static struct everywhere
explain_everywhere(struct rl *rl, const struct key_view *key)
{
	struct everywhere all = {0};
	struct rl_rule_info rule;
	struct rl_info info;

	rl_info(rl, &info);
	all.items = need(calloc(info.rules + UINT64_C(1), sizeof(*all.items)));
	for (uint32_t id = 0; id < info.rules; id++)
		if (rule_read(rl, (int)id, &rule))
			add_under(rl, rule.handle, key, &all);
	return all;
}

static void
write_json(struct rl *rl, const struct key_view *key, const struct everywhere *all)
{
	json_t *root = need(json_object()), *rules = need(json_array());

	json_put_key(root, key);
	json_put(root, "rules", rules);
	for (size_t i = 0; i < all->count; i++)
		json_push(rules, explanation_json(rl, &all->items[i]));
	output_json(root);
}

/* Bans first, once each, whatever the rules: then the answers, and all the rest if it is wanted. */
static void
write_text(struct rl *rl, const struct key_view *key, const struct everywhere *all, bool is_whole)
{
	struct active_bans bans = active_bans_collect(rl, RL_ANY_RULE, key);

	fputs("key          ", stdout);
	output_key(stdout, key);
	putchar('\n');
	active_bans_print(stdout, rl, &bans);
	active_bans_free(&bans);
	for (size_t i = 0; i < all->count && !is_whole; i++)
		timed_print(stdout, rl, &all->items[i].timed);
	putchar('\n');
	answer_line_head();
	for (size_t i = 0; i < all->count; i++)
		answer_line_print(rl, &all->items[i]);
	for (size_t i = 0; i < all->count && is_whole; i++) {
		fputs("\n\n", stdout);
		explanation_print(stdout, rl, &all->items[i], true);
	}
}

/* An admin need not know which rule refuses a customer. */
static int
get_everywhere(const struct context *context, struct rl *rl, const struct key_view *key)
{
	struct everywhere all = explain_everywhere(rl, key);
	int status = all.count > 0 ? EXIT_YES : EXIT_NO;

	if (option_value(context, "json"))
		write_json(rl, key, &all);
	else if (all.count > 0)
		write_text(rl, key, &all, option_value(context, "verbose") != NULL);
	if (all.count == 0)
		complain("no rule has a counter for this key");
	for (size_t i = 0; i < all.count; i++)
		explanation_free(&all.items[i]);
	free(all.items);
	return status;
}

int
run_get(const struct context *context)
{
	bool has_rule = context->operand_count > 1;
	const char *text = context->operands[has_rule];
	struct key_view key = {text, strlen(text), strlen(text), 0};
	struct rl *rl = key_need(key.len) ? open_segment(context) : NULL;

	if (!rl)
		return EXIT_TROUBLE;
	return has_rule ? get_under(context, rl, &key) : get_everywhere(context, rl, &key);
}
