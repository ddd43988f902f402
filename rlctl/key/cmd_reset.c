/* SPDX-License-Identifier: BSD-2-Clause */
/* reset: forget what keys have used: one key, or all that are meant. */

#include <errno.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/match.h"
#include "base/operand.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/rule.h"
#include "key/usage.h"
#include "text/error_text.h"

#define PROGRESS_ENTRIES 0x3ffff /* told whenever these bits of the count are 0 */

const struct command_option reset_options[] = {
	{"rule", 'r', "RULE", "under this rule alone; without KEY: all its keys"},
	{"match", 'm', "GLOB|CIDR", "all keys that match"},
	{"all", 'a', NULL, "all keys of all rules"},
	{"exact", 'e', NULL, "KEY is this very key, whatever it looks like"},
	{"yes", 'y', NULL, "do not ask"},
	{0},
};

struct reset {
	struct rl *rl;
	int rule;                /* or RL_ANY_RULE */
	struct pattern_text key; /* of one key */
	struct match match;      /* of many keys */
	bool has_match;
	uint64_t seen;
	uint64_t reset;
	uint64_t unnamed; /* not all bytes of their key are kept, so they cannot be named */
	uint64_t failed;
	int error; /* of the last that failed */
};

static void
reset_matching(struct reset *reset, int rule, const struct rl_pattern *pattern)
{
	struct rl_reset_counts counts;
	int error = rl_reset_matching(reset->rl, rule, pattern, &counts);

	reset->reset += counts.forgotten;
	reset->unnamed += counts.unknown;
	if (error == 0)
		return;
	reset->failed++;
	reset->error = error;
}

static int
reset_entry(const struct rl_entry *entry, void *arg)
{
	const struct rl_pattern pattern = {RL_MATCH_KEY, entry->key, entry->key_len};
	struct reset *reset = arg;
	struct key_view key = entry_key(entry);

	if ((++reset->seen & PROGRESS_ENTRIES) == 0)
		progress_show("looking at key", reset->seen);
	if (entry->is_stale || entry->rule < 0 ||
	    (reset->rule != RL_ANY_RULE && entry->rule != reset->rule))
		return 0;
	if (!entry_has_key(entry))
		reset->unnamed++;
	else if (match_has(&reset->match, &key))
		reset_matching(reset, entry->rule, &pattern);
	return 0;
}

/* By a glob: each key that matches, by its name. */
static void
reset_by_name(struct reset *reset)
{
	rl_walk(reset->rl, rl_now(reset->rl), NULL, reset_entry, reset);
	progress_erase();
}

/* Many keys: those of a glob by name, others at once. */
static void
reset_many(struct reset *reset)
{
	struct rl_pattern pattern;

	if (!reset->has_match || match_is_all(&reset->match))
		reset_matching(reset, reset->rule, NULL);
	else if (match_as_pattern(&reset->match, &pattern))
		reset_matching(reset, reset->rule, &pattern);
	else
		reset_by_name(reset);
}

static void
report(const struct context *context, const struct reset *reset)
{
	json_t *root;

	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "reset", json_count(reset->reset));
		json_put(root, "unnamed", json_count(reset->unnamed));
		json_put(root, "failed", json_count(reset->failed));
		output_json(root);
	} else {
		printf("%" PRIu64 " reset\n", reset->reset);
	}
	if (reset->unnamed > 0)
		complain("%" PRIu64 " keys cannot be told by name, as not all of their bytes are "
		         "kept: they were left as they are",
		         reset->unnamed);
	if (reset->failed > 0)
		complain("%" PRIu64 " keys: %s", reset->failed, error_text(reset->error).text);
}

static int
run_on(const struct context *context, struct reset *reset)
{
	const struct rl_pattern *key = &reset->key.pattern;
	const struct rl_pattern this_key = {RL_MATCH_KEY, key->key, key->key_len};

	reset->rule = rule_option(reset->rl, context);
	if (reset->rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (context->operand_count > 0)
		reset_matching(reset, reset->rule, &this_key);
	else
		reset_many(reset);
	report(context, reset);
	if (context->operand_count > 0 && key->match == RL_MATCH_NETWORK && reset->reset == 0)
		complain("reset: no rule counts this network as a whole; --match resets the "
		         "addresses in it");
	if (reset->failed > 0 || reset->unnamed > 0)
		return EXIT_TROUBLE;
	return reset->reset > 0 ? EXIT_YES : EXIT_NO;
}

/* One way to say whom is needed, and no two that contradict each other. */
static bool
check_target(const struct context *context)
{
	bool has_key = context->operand_count > 0, has_all = option_value(context, "all") != NULL;
	bool has_match = option_value(context, "match") != NULL;
	bool has_rule = option_value(context, "rule") != NULL;

	if (has_key + has_match + has_all > 1 || (has_all && has_rule))
		complain(
			"reset: KEY, --match and --all exclude each other, as do --all and --rule");
	else if (!has_key && !has_match && !has_all && !has_rule)
		complain("reset: which keys? Give KEY, --rule, --match or --all");
	else
		return true;
	return false;
}

/* A network is a key, too: of a rule with prefixes. */
static bool
read_key(const struct context *context, struct reset *reset)
{
	if (context->operand_count == 0)
		return true;
	if (!pattern_operand(context, &reset->key))
		return false;
	if (reset->key.pattern.match != RL_MATCH_PREFIX)
		return true;
	complain("reset: KEY is one key, and this is a prefix: --match resets all that match");
	return false;
}

static bool
agree(const struct context *context)
{
	const char *rule = option_value(context, "rule"), *match = option_value(context, "match");
	const char *segment = context->operand_count > 0 ? "" : segment_name(context);

	return context->operand_count > 0 ||
	       (segment && confirm(context, "Reset every key%s%s%s%s of segment '%s'?",
	                           match ? " that matches " : "", match ? match : "",
	                           rule ? " of rule " : "", rule ? rule : "", segment));
}

int
run_reset(const struct context *context)
{
	const char *match = option_value(context, "match");
	struct reset reset = {.has_match = match != NULL};

	if (!check_target(context) || !read_key(context, &reset) ||
	    (match && !match_make("--match", match, &reset.match)))
		return EXIT_TROUBLE;
	reset.rl = agree(context) ? open_segment_writable(context) : NULL;
	return reset.rl ? run_on(context, &reset) : EXIT_TROUBLE;
}
