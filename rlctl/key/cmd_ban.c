/* SPDX-License-Identifier: BSD-2-Clause */
/* ban, allow, unban: set and lift bans and exemptions. */

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/expiry.h"
#include "base/operand.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/active_bans.h"
#include "text/duration.h"

const struct command_option ban_options[] = {
	{"for", 'f', "D", "how long, as in 10m, 1h, 7d"},
	{"until", 'u', "TIME", "until when: " EXPIRY_FORMS},
	{"rule", 'r', "RULE", "under this rule alone; default: under every rule"},
	{"exact", 'e', NULL, "KEY is this very key, whatever it looks like"},
	{0},
};

const struct command_option unban_options[] = {
	{"rule", 'r', "RULE", "what stands for this rule alone; default: for every rule"},
	{"exact", 'e', NULL, "KEY is this very key, whatever it looks like"},
	{0},
};

static struct active_ban
active_ban_of(const struct rl_pattern *pattern, int rule, bool is_exemption, uint64_t until_ns)
{
	return (struct active_ban){
		.rule = rule,
		.is_exemption = is_exemption,
		.match = pattern->match,
		.key = {pattern->key, pattern->key_len, pattern->key_len, 0},
		.until_ns = until_ns,
	};
}

static bool
read_for(const char *text, uint64_t now_ns, uint64_t *until_ns)
{
	const char *wrong = duration_parse(text, until_ns);

	if (!wrong && *until_ns == 0)
		wrong = "is no time at all";
	if (!wrong && (*until_ns > INT64_MAX - now_ns))
		wrong = "is too long";
	if (wrong)
		complain("--for: '%s' %s", text, wrong);
	else
		*until_ns += now_ns;
	return !wrong;
}

static bool
read_until(const char *text, uint64_t now_ns, uint64_t *until_ns)
{
	const char *wrong = expiry_parse(text, until_ns);

	if (!wrong && *until_ns <= now_ns)
		wrong = "is past";
	if (wrong)
		complain("--until: '%s' %s", text, wrong);
	return !wrong;
}

static bool
read_end(const struct context *context, uint64_t now_ns, uint64_t *until_ns)
{
	const char *length = option_value(context, "for"), *until = option_value(context, "until");

	if (!length == !until) {
		complain("%s: give either --for or --until", context->command->name);
		return false;
	}
	return length ? read_for(length, now_ns, until_ns) : read_until(until, now_ns, until_ns);
}

static void
complain_failed(const struct context *context, struct rl *rl, int error)
{
	struct rl_info info;

	rl_info(rl, &info);
	if (error == RL_EBANS)
		complain("%s: the segment is made for %u bans and exemptions, and no place is left "
		         "for this one; 'rlctl bans' shows them",
		         context->command->name, info.bans);
	else if (error == -EINVAL || error == RL_EADDRESS)
		complain("%s: KEY can be no pattern: %s", context->command->name,
		         rl_strerror(error));
	else
		complain("%s: %s", context->command->name, rl_strerror(error));
}

/* What becomes of what stood before, and whether there is anybody whom it concerns. */
struct circumstances {
	bool has_before; /* and it ended at another time, or was of the other kind */
	struct rl_ban_info before;
	bool is_key;
	bool is_live;
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

static const char *
effect_name(bool is_exemption)
{
	return is_exemption ? "exemption" : "ban";
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
	if (around->has_before && before->until_ns == RL_NEVER_NS)
		printf("replaces the %s that stood until lifted\n",
		       effect_name(before->is_exemption));
	else if (around->has_before)
		printf("replaces the %s that stood until %s UTC\n",
		       effect_name(before->is_exemption),
		       time_format(before->until_ns, false).text);
	if (around->is_key && !around->is_live)
		puts("note: no live key has this name");
}

/* Of a rule that counts addresses alone, a key that is none is refused, whether banned or not. */
static bool
counts_addresses(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	if (rule == RL_ANY_RULE || rl_rule_info(rl, rule, &info) < 0)
		return false;
	for (unsigned i = 0; i < info.limit_count; i++)
		if (info.limits[i].prefix_v4 == 0 && info.limits[i].prefix_v6 == 0)
			return false;
	return info.limit_count > 0;
}

static bool
check_reach(const struct context *context, struct rl *rl, int rule,
            const struct rl_pattern *pattern)
{
	if (pattern_is_address(pattern) || !counts_addresses(rl, rule))
		return true;
	complain("%s: rule %s counts IP addresses alone, and KEY is neither an address nor a "
	         "network: it would never match",
	         context->command->name, rule_label(rl, rule).text);
	return false;
}

static int
impose(const struct context *context, struct rl *rl, const struct rl_pattern *pattern,
       bool is_exemption)
{
	struct circumstances around;
	struct active_ban active_ban;
	uint64_t until_ns;
	int rule, error;

	if (!read_end(context, rl_now(rl), &until_ns))
		return EXIT_TROUBLE;
	rule = rule_option(rl, context);
	if (rule == RULE_UNKNOWN || !check_reach(context, rl, rule, pattern))
		return EXIT_TROUBLE;
	active_ban = active_ban_of(pattern, rule, is_exemption, until_ns);
	around = look_around(rl, pattern, &active_ban);
	error = (is_exemption ? rl_allow : rl_ban)(rl, rule, pattern, until_ns);
	if (error < 0) {
		complain_failed(context, rl, error);
		return EXIT_TROUBLE;
	}
	report(context, rl, &active_ban, &around);
	return EXIT_YES;
}

static int
run_impose(const struct context *context, bool is_exemption)
{
	struct pattern_text read;
	struct rl *rl = pattern_operand(context, &read) ? open_segment_writable(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = impose(context, rl, &read.pattern, is_exemption);
	rl_close(rl);
	return status;
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

/* Somebody who lifts a ban and finds none may have the wrong rule, or the wrong pattern. */
static void
hint(struct rl *rl, const struct context *context)
{
	const char *bytes = context->operands[0];
	struct key_view key = {bytes, strlen(bytes), strlen(bytes), 0};
	struct active_bans found = active_bans_collect(rl, RL_ANY_RULE, &key);

	complain("unban: nothing stands for this pattern%s",
	         found.count > 0 ? ", but for this key:" : "");
	for (size_t i = 0; i < found.count; i++) {
		fputs("  ", stderr);
		active_ban_print(stderr, rl, &found.items[i], found.now_ns);
	}
	active_bans_free(&found);
}

static int
lift(const struct context *context, struct rl *rl, const struct rl_pattern *pattern)
{
	int rule = rule_option(rl, context), lifted;
	json_t *root;

	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	lifted = rl_unban(rl, rule, pattern);
	if (lifted < 0) {
		complain_failed(context, rl, lifted);
		return EXIT_TROUBLE;
	}
	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "lifted", json_boolean(lifted));
		output_json(root);
	} else if (lifted) {
		puts("lifted");
	}
	if (!lifted)
		hint(rl, context);
	return lifted ? EXIT_YES : EXIT_NO;
}

int
run_unban(const struct context *context)
{
	struct pattern_text read;
	struct rl *rl = pattern_operand(context, &read) ? open_segment_writable(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = lift(context, rl, &read.pattern);
	rl_close(rl);
	return status;
}
