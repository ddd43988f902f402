/* SPDX-License-Identifier: BSD-2-Clause */
/* config show: the file with everything that it leaves to defaults. */

#include <inttypes.h>
#include <model/auto_ban.h>
#include <model/option.h>
#include <show/show.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>

#include "base/limit_view.h"
#include "base/output.h"
#include "config/config_verb.h"

#define OVERRIDES_SHOWN 10 /* of a rule; --json shows all */

static void
print_option(const struct config *config, const struct rl_options *o, const struct rl_field *field)
{
	bool is_idle = field->marks & RL_FIELD_RESERVE && o->on_full != RL_FULL_RESERVE;
	struct option_text usual = option_format(field, o);
	const char *text = usual.text;

	if (is_idle || field->marks & RL_FIELD_NOT_IN_FILES)
		return;
	if (field->offset == offsetof(struct rl_options, group))
		text = config->group ? config->group : "its creator's";
	else if (field->offset == offsetof(struct rl_options, cells) && o->cells == 0)
		text = "what fits a seventh of the table, or 4 MiB";
	printf("%-10s %s\n", field->word, text);
}

static void
print_segment(const struct context *context, const struct config *config)
{
	struct rl_options o = config_options(config);
	const struct rl_field *field;

	printf("file       %s\n", config->path);
	printf("segment    %s\n", config_segment(context, config));
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		print_option(config, &o, field);
	printf("huge_pages %s\n", o.flags & RL_OPEN_HUGE_PAGES ? "true" : "false");
	printf("interval   %s\n", duration_exact(config->gc_interval_ns).text);
}

static void
print_capacities(const struct rl_override *override, size_t limit_count)
{
	printf("capacity");
	for (size_t i = 0; i < limit_count; i++) {
		if (override->capacity[i] > 0)
			printf(" %" PRIu32, override->capacity[i]);
		else
			printf(" unchanged");
	}
	putchar('\n');
}

static void
print_override(const struct rl_override *override, size_t limit_count)
{
	char *name = need(config_pattern_text(&override->pattern));

	printf("  ");
	output_bytes(stdout, name, strlen(name));
	printf(config_is_exact(&override->pattern) ? " (exact): " : ": ");
	if (override->kind == RL_OVERRIDE_CAPACITY)
		print_capacities(override, limit_count);
	else
		puts(override->kind == RL_OVERRIDE_BANNED ? "banned" : "unlimited");
	free(name);
}

static void
print_rule(const struct rl_config_rule *rule)
{
	size_t count = config_limit_count(&rule->rule), i;

	printf("\n%s\n", rule->rule.name);
	for (i = 0; i < count; i++)
		printf("  %s\n", limit_format(config_limit(&rule->rule, i)).text);
	if (rule->ban.after > 0)
		printf("  %s\n", auto_ban_format(&rule->ban).text);
	for (i = 0; i < rule->override_count && i < OVERRIDES_SHOWN; i++)
		print_override(&rule->overrides[i], count);
	if (i < rule->override_count)
		printf("  and %zu more overrides\n", rule->override_count - i);
}

static void
print_all(const struct context *context, const struct config *config)
{
	print_segment(context, config);
	for (size_t i = 0; i < config->rule_count; i++)
		print_rule(&config->rules[i]);
}

int
config_show(const struct context *context)
{
	int status;
	struct config *config = config_need(config_file(context), &status);

	if (!config)
		return status;
	if (option_value(context, "json"))
		output_json(need(config_json(config)));
	else
		print_all(context, config);
	config_free(config);
	return EXIT_YES;
}
