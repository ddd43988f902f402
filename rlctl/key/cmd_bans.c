/* SPDX-License-Identifier: BSD-2-Clause */
/* bans: the bans and exemptions in force. */

#include <load/load.h>
#include <rl.h>
#include <stdio.h>

#include "base/command.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/active_bans.h"
#include "key/configured.h"
#include "text/duration.h"

const struct command_option bans_options[] = {
	{"rule", 'r', "RULE", "those that hold under this rule"},
	{"config", 'c', "FILE",
         "whose overrides are shown (default: $RL_CONFIG, or " CONFIG_DEFAULT_PATH ")"},
	{0},
};

static void
print_left(const struct active_ban *active_ban, uint64_t now_ns)
{
	uint64_t until_ns = active_ban->until_ns;

	if (active_ban->is_configured)
		printf("%8s  %-19s", "never", "as configured");
	else if (until_ns == RL_NEVER_NS)
		printf("%8s  %-19s", "never", "never");
	else
		printf("%8s  %-19s",
		       duration_format(until_ns > now_ns ? until_ns - now_ns : 0).text,
		       time_format(until_ns, false).text);
}

static void
write_text(struct rl *rl, const struct active_bans *found)
{
	if (found->count > 0)
		printf("%8s  %-19s  %-9s  %-7s  %s\n", "left", "until (UTC)", "effect", "match",
		       "rule  pattern");
	for (size_t i = 0; i < found->count; i++) {
		const struct active_ban *active_ban = &found->items[i];

		print_left(active_ban, found->now_ns);
		printf("  %-9s  %-7s  %s  ", active_ban->is_exemption ? "exemption" : "ban",
		       match_name(active_ban->match), rule_label(rl, active_ban->rule).text);
		pattern_print(stdout, active_ban->match, &active_ban->key);
		putchar('\n');
	}
	printf("%zu in force\n", found->count);
}

static void
write_json(struct rl *rl, const struct active_bans *found)
{
	json_t *root = need(json_object()), *array = need(json_array());

	json_put(root, "bans", array);
	for (size_t i = 0; i < found->count; i++) {
		json_t *object = active_ban_json(rl, &found->items[i]);

		json_put(object, "source",
		         json_text(found->items[i].is_configured ? "configuration" : "call"));
		json_push(array, object);
	}
	output_json(root);
}

int
run_bans(const struct context *context)
{
	struct rl *rl = open_segment(context);
	struct active_bans found;
	int rule;

	if (!rl)
		return EXIT_TROUBLE;
	rule = rule_option(rl, context);
	if (rule == RULE_UNKNOWN) {
		rl_close(rl);
		return EXIT_TROUBLE;
	}
	found = active_bans_collect(rl, rule, NULL);
	active_bans_add_configured(rl, rule, config_path(option_value(context, "config")), &found);
	if (option_value(context, "json"))
		write_json(rl, &found);
	else
		write_text(rl, &found);
	active_bans_free(&found);
	rl_close(rl);
	return EXIT_YES;
}
