/* SPDX-License-Identifier: BSD-2-Clause */
/* ban, allow, unban: set and lift bans and exemptions. */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/escape.h"
#include "base/expiry.h"
#include "base/operand.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/active_bans.h"
#include "key/ban_list.h"
#include "key/ban_many.h"
#include "key/ban_reach.h"
#include "key/override_view.h"

const struct command_option ban_options[] = {
	{"for", 'f', "D", "how long, as in 10m or 7d; default: " BAN_LENGTH},
	{"until", 'u', "TIME", "until when: " EXPIRY_FORMS},
	{"rule", 'r', "RULE", "under this rule alone; default: under every rule"},
	{"exact", 'e', NULL, "KEY is this very key, whatever it looks like"},
	{"pattern", 'p', NULL, "KEY is a pattern, though a key has this name, too"},
	{"reason", 'm', "TEXT", "why, for those who ask later; at most 96 bytes"},
	{"null", '0', NULL, "with -: what is read has a NUL behind each key"},
	{"yes", 'y', NULL, "do not ask about wide networks, or many keys"},
	{"from", 'F', "FILE", "a list: text, CrowdSec's decisions, or a crawler's networks"},
	{"sync", 0, NULL, "with --from: lift what stands for this --reason and is not in FILE"},
	{"dry-run", 'n', NULL, "with --from: change nothing, and show what would change"},
	{0},
};

const struct command_option unban_options[] = {
	{"rule", 'r', "RULE", "what stands for this rule alone; default: for every rule"},
	{"exact", 'e', NULL, "KEY is this very key, whatever it looks like"},
	{"forget", 0, NULL,
         "forget, too, how often rules have denied and banned the key by themselves"},
	{0},
};

static struct active_ban
active_ban_of(const struct rl_pattern *pattern, const struct ban_order *order, uint64_t now_ns)
{
	return (struct active_ban){
		.rule = order->rule,
		.is_exemption = order->is_exemption,
		.match = pattern->match,
		.key = {pattern->key, pattern->key_len, pattern->key_len, 0},
		.until_ns = order->until_ns,
		.has_note = true,
		.author = geteuid(),
		.since_ns = now_ns,
		.reason = (char *)order->reason,
	};
}

/* The earlier ban, and whether there is a key that the new one concerns. */
struct circumstances {
	bool has_before; /* and it ended at another time, or was of the other kind */
	struct rl_ban_info before;
	bool is_key;
	bool is_live;
	uint64_t hit; /* live keys that another pattern matches */
};

static int
see_live(const struct rl_entry *entry, void *arg)
{
	bool *is_live = arg;

	*is_live |= !entry->is_stale;
	return *is_live;
}

static bool
key_is_live(struct rl *rl, int rule, const struct rl_pattern *key)
{
	struct rl_info info;
	bool is_live = false;

	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules && !is_live; id++)
		if (rule == RL_ANY_RULE || rule == (int)id)
			rl_lookup(rl, (int)id, key->key, key->key_len, rl_now(rl), see_live,
			          &is_live);
	return is_live;
}

static struct circumstances
look_around(struct rl *rl, const struct rl_pattern *pattern, const struct active_ban *active_ban)
{
	struct circumstances around = {.is_key = pattern->match == RL_MATCH_KEY};
	struct rl_ban_info *before = &around.before;

	around.has_before = rl_ban_info(rl, active_ban->rule, pattern, rl_now(rl), before) == 1 &&
	                    (before->until_ns != active_ban->until_ns ||
	                     !before->is_exemption != !active_ban->is_exemption);
	around.is_live = around.is_key && key_is_live(rl, active_ban->rule, pattern);
	return around;
}

static void
report_json(struct rl *rl, const struct active_ban *active_ban, const struct circumstances *around)
{
	json_t *root = active_ban_json(rl, active_ban), *before = json_null();

	if (around->has_before) {
		before = need(json_object());
		json_put(before, "effect", json_text(effect_name(around->before.is_exemption)));
		json_put(before, "until_ns", json_duration(around->before.until_ns));
	}
	json_put(root, "replaces", before);
	json_put(root, "live", around->is_key ? json_boolean(around->is_live) : json_null());
	json_put(root, "live_keys", around->is_key ? json_null() : json_count(around->hit));
	output_json(root);
}

static void
report(const struct context *context, struct rl *rl, const struct active_ban *active_ban,
       const struct circumstances *around)
{
	const struct rl_ban_info *before = &around->before;

	if (option_value(context, "json")) {
		report_json(rl, active_ban, around);
		return;
	}
	active_ban_print(stdout, rl, active_ban, rl_now(rl));
	if (active_ban->reason) {
		fputs("for ", stdout);
		reason_print(stdout, active_ban->reason);
		putchar('\n');
	}
	if (around->has_before && before->until_ns == RL_NEVER_NS)
		printf("replaces the %s that stood until lifted\n",
		       effect_name(before->is_exemption));
	else if (around->has_before)
		printf("replaces the %s that stood until %s UTC\n",
		       effect_name(before->is_exemption),
		       time_format(before->until_ns, false).text);
	if (around->has_before && !before->is_exemption == !active_ban->is_exemption &&
	    active_ban->until_ns < before->until_ns)
		puts("note: it ends earlier than that");
	if (around->is_key && !around->is_live)
		puts("note: no live key has this name");
	if (!around->is_key)
		printf("%" PRIu64 " live %s\n", around->hit,
		       around->hit == 1 ? "key matches" : "keys match");
}

/* Somebody or nobody, and no one by mistake; false after a message. */
static bool
check_reach(const struct context *context, struct rl *rl, const struct rl_pattern *pattern,
            const struct ban_order *order)
{
	const char *wrong = ban_order_reach(order, pattern), *text = context->operands[0];
	char *shown;

	if (wrong) {
		complain("%s: rule %s counts IP addresses alone, and KEY is %s",
		         context->command->name, rule_label(rl, order->rule).text, wrong);
		return false;
	}
	if (!option_value(context, "exact"))
		wrong = ban_order_doubt(rl, order, text, strlen(text), pattern);
	if (!wrong)
		return true;
	shown = escape(text, strlen(text));
	complain("%s: '%s' %s", context->command->name, shown, wrong);
	free(shown);
	return false;
}

static int
impose(const struct context *context, struct rl *rl, const struct rl_pattern *pattern,
       const struct ban_order *order)
{
	struct active_ban active_ban = active_ban_of(pattern, order, rl_now(rl));
	struct circumstances around;
	uint64_t hit = 0;
	int error;

	if (!check_reach(context, rl, pattern, order) ||
	    (pattern->match != RL_MATCH_KEY && !ban_agreed(context, rl, order, pattern, &hit)))
		return EXIT_TROUBLE;
	around = look_around(rl, pattern, &active_ban);
	around.hit = hit;
	error = ban_order_set(rl, order, pattern);
	if (error < 0) {
		ban_complain(context, rl, error);
		return EXIT_TROUBLE;
	}
	report(context, rl, &active_ban, &around);
	return EXIT_YES;
}

static int
run_one(const struct context *context, bool is_exemption)
{
	struct pattern_text read;
	struct rl *rl = pattern_operand(context, &read) ? open_segment_writable(context) : NULL;
	struct ban_order order;

	if (rl && ban_order_read(context, rl, is_exemption, &order))
		return impose(context, rl, &read.pattern, &order);
	return EXIT_TROUBLE;
}

static int
run_all(const struct context *context, bool is_exemption,
        int (*run)(const struct context *context, struct rl *rl, const struct ban_order *order))
{
	struct rl *rl = open_segment_writable(context);
	struct ban_order order;

	if (rl && ban_order_read(context, rl, is_exemption, &order))
		return run(context, rl, &order);
	return EXIT_TROUBLE;
}

/* NULL, or an option that has no meaning beside these operands, and why. */
static const char *
misplaced(const struct context *context)
{
	bool is_list = option_value(context, "from") != NULL;

	if (is_list && context->operand_count > 0)
		return "give KEY or --from, not both";
	if (is_list && (option_value(context, "exact") || option_value(context, "null")))
		return "--exact and --null do not go with --from";
	if (!is_list && (option_value(context, "sync") || option_value(context, "dry-run")))
		return "--sync and --dry-run go with --from";
	if (!is_list && context->operand_count == 0)
		return "give a KEY, or --from FILE";
	if (!is_list && option_value(context, "null") && !ban_is_many(context))
		return "--null goes with -";
	return NULL;
}

static int
run_impose(const struct context *context, bool is_exemption)
{
	const char *wrong = misplaced(context);

	if (wrong) {
		complain("%s: %s", context->command->name, wrong);
		return EXIT_TROUBLE;
	}
	if (option_value(context, "from"))
		return run_all(context, is_exemption, ban_list);
	return ban_is_many(context) ? run_all(context, is_exemption, ban_many)
	                            : run_one(context, is_exemption);
}

int
run_ban(const struct context *context)
{
	return run_impose(context, false);
}

int
run_allow(const struct context *context)
{
	return run_impose(context, true);
}

/* Each of the configuration's that says more than a capacity, with its rule; how many. */
static size_t
say_configured(FILE *out, struct rl *rl, const struct key_view *key)
{
	struct rl_rule_info rule;
	struct rl_info info;
	size_t count = 0;

	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules; id++) {
		struct overrides found;

		if (!rule_read(rl, (int)id, &rule))
			continue;
		overrides_find(rl, rule.handle, key, &found);
		for (size_t i = 0; i < found.count; i++) {
			if (found.items[i].kind == RL_OVERRIDE_CAPACITY)
				continue;
			count++;
			fprintf(out, "  rule %s, by the configuration: ", rule.name);
			override_print(out, &found.items[i], rule.limit_count);
		}
	}
	return count;
}

/* What goes on to stand for the key, and what lifts it; how much that is. */
static size_t
say_standing(FILE *out, struct rl *rl, const char *head, const struct context *context)
{
	const char *bytes = context->operands[0];
	struct key_view key = {bytes, strlen(bytes), strlen(bytes), 0};
	struct active_bans found = active_bans_collect(rl, RL_ANY_RULE, &key);
	char *configured = NULL;
	size_t size = 0, count = found.count;
	FILE *stream = need(open_memstream(&configured, &size));

	count += say_configured(stream, rl, &key);
	fclose(stream);
	if (count > 0)
		fprintf(out, "%s\n", head);
	for (size_t i = 0; i < found.count; i++) {
		fprintf(out, "  %s", found.items[i].is_automatic ? "automatic " : "");
		active_ban_print(out, rl, &found.items[i], found.now_ns);
		fputs("    rlctl unban ", out);
		if (found.items[i].rule != RL_ANY_RULE)
			fprintf(out, "--rule %s ", rule_label(rl, found.items[i].rule).text);
		output_key(out, &found.items[i].key);
		fputs(found.items[i].match == RL_MATCH_PREFIX ? "\\*\n" : "\n", out);
	}
	fputs(configured, out);
	free(configured);
	active_bans_free(&found);
	return count;
}

/* Somebody who lifts a ban and finds none may have the wrong rule, or the wrong pattern. */
static void
hint(struct rl *rl, const struct context *context)
{
	complain("unban: nothing stands for this pattern");
	say_standing(stderr, rl, "but for this key:", context);
}

/* Under the rule, or all of them: under how many there was something. Or an error. */
static int
forget_strikes(struct rl *rl, int rule, const struct rl_pattern *key)
{
	int count = 0, done = 0;
	struct rl_rule_info of;
	struct rl_info info;

	if (rule != RL_ANY_RULE)
		return rl_auto_ban_forget(rl, rule, key->key, key->key_len);
	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules && done >= 0; id++) {
		if (!rule_read(rl, (int)id, &of))
			continue;
		done = rl_auto_ban_forget(rl, of.handle, key->key, key->key_len);
		count += done > 0;
	}
	return done < 0 ? done : count;
}

static void
report_lifted(const struct context *context, struct rl *rl, int lifted, int forgotten)
{
	json_t *root;

	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "lifted", json_boolean(lifted));
		if (option_value(context, "forget"))
			json_put(root, "forgotten", json_count((uint64_t)forgotten));
		output_json(root);
		return;
	}
	if (lifted)
		puts("lifted");
	if (forgotten > 0)
		printf("forgotten under %d %s\n", forgotten, forgotten == 1 ? "rule" : "rules");
	if (lifted)
		say_standing(stdout, rl, "but this stands for the key:", context);
}

static int
lift(const struct context *context, struct rl *rl, const struct rl_pattern *pattern)
{
	int rule = rule_option(rl, context), lifted, forgotten = 0;

	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	if (option_value(context, "forget") && pattern->match != RL_MATCH_KEY) {
		complain("unban: --forget is of a key, not of a pattern");
		return EXIT_TROUBLE;
	}
	lifted = rl_unban(rl, rule, pattern);
	if (lifted >= 0 && option_value(context, "forget"))
		forgotten = forget_strikes(rl, rule, pattern);
	if (lifted < 0 || forgotten < 0) {
		ban_complain(context, rl, lifted < 0 ? lifted : forgotten);
		return EXIT_TROUBLE;
	}
	report_lifted(context, rl, lifted, forgotten);
	if (!lifted && forgotten == 0)
		hint(rl, context);
	return lifted || forgotten > 0 ? EXIT_YES : EXIT_NO;
}

int
run_unban(const struct context *context)
{
	struct pattern_text read;
	struct rl *rl = pattern_operand(context, &read) ? open_segment_writable(context) : NULL;

	return rl ? lift(context, rl, &read.pattern) : EXIT_TROUBLE;
}
