/* SPDX-License-Identifier: BSD-2-Clause */
/* ban, allow, unban: rule on whom limits do not count. */

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "output.h"
#include "rule.h"
#include "standing.h"
#include "until.h"

const struct command_option ban_options[] = {
	{"for", 'f', "D", "how long, as in 10m, 1h, 7d"},
	{"until", 'u', "TIME", "until when: " UNTIL_FORMS},
	{"rule", 'r', "RULE", "under this rule alone; default: under every rule"},
	{"exact", 'e', NULL, "KEY is one key, even if it looks like a prefix or a network"},
	{0},
};

const struct command_option unban_options[] = {
	{"rule", 'r', "RULE", "what stands for this rule alone; default: for every rule"},
	{"exact", 'e', NULL, "KEY is one key, even if it looks like a prefix or a network"},
	{0},
};

static struct rl_pattern
pattern_of(const struct context *context)
{
	const char *key = context->operands[0];

	if (option_value(context, "exact"))
		return (struct rl_pattern){RL_MATCH_KEY, key, strlen(key)};
	return rl_pattern_of(key, strlen(key));
}

static struct standing
standing_of(const struct context *context, int rule, bool is_exemption, uint64_t until_ns)
{
	struct rl_pattern pattern = pattern_of(context);

	return (struct standing){
		.rule = rule,
		.is_exemption = is_exemption,
		.match = pattern.match,
		.key = {pattern.key, pattern.key_len, pattern.key_len, 0},
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
	const char *wrong = until_parse(text, until_ns);

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
		complain("%s: the segment holds %u bans and exemptions, and has no room for "
		         "another; 'rlctl bans' shows them",
		         context->command->name, info.bans);
	else if (error == -EINVAL || error == RL_EADDRESS)
		complain("%s: KEY can be no pattern: %s", context->command->name,
		         rl_strerror(error));
	else
		complain("%s: %s", context->command->name, rl_strerror(error));
}

static void
report(const struct context *context, struct rl *rl, const struct standing *standing)
{
	if (option_value(context, "json"))
		output_json(standing_json(rl, standing));
	else
		standing_print(stdout, rl, standing, rl_now(rl));
}

static int
impose(const struct context *context, struct rl *rl, bool is_exemption)
{
	struct rl_pattern pattern = pattern_of(context);
	struct standing standing;
	uint64_t until_ns;
	int rule, error;

	if (!read_end(context, rl_now(rl), &until_ns))
		return EXIT_TROUBLE;
	rule = rule_option(rl, context);
	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	error = (is_exemption ? rl_allow : rl_ban)(rl, rule, &pattern, until_ns);
	if (error < 0) {
		complain_failed(context, rl, error);
		return EXIT_TROUBLE;
	}
	standing = standing_of(context, rule, is_exemption, until_ns);
	report(context, rl, &standing);
	return EXIT_YES;
}

static int
run_impose(const struct context *context, bool is_exemption)
{
	struct rl *rl =
		key_need(strlen(context->operands[0])) ? open_segment_writable(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = impose(context, rl, is_exemption);
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
	struct standings found = standings_collect(rl, RL_ANY_RULE, &key);

	complain("unban: nothing stands for this pattern%s",
	         found.count > 0 ? ", but for this key:" : "");
	for (size_t i = 0; i < found.count; i++) {
		fputs("  ", stderr);
		standing_print(stderr, rl, &found.items[i], found.now_ns);
	}
	standings_free(&found);
}

static int
lift(const struct context *context, struct rl *rl)
{
	struct rl_pattern pattern = pattern_of(context);
	int rule = rule_option(rl, context), lifted;
	json_t *root;

	if (rule == RULE_UNKNOWN)
		return EXIT_TROUBLE;
	lifted = rl_unban(rl, rule, &pattern);
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
	struct rl *rl =
		key_need(strlen(context->operands[0])) ? open_segment_writable(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = lift(context, rl);
	rl_close(rl);
	return status;
}
