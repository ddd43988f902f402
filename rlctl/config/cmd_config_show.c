/* SPDX-License-Identifier: BSD-2-Clause */
/* config show: the file with everything that it leaves to defaults. */

#include <inttypes.h>
#include <model/auto_ban.h>
#include <show/show.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <text/duration.h>
#include <text/names.h>

#include "base/limit_view.h"
#include "base/output.h"
#include "config/config_verb.h"

#define OVERRIDES_SHOWN 10 /* of a rule; --json shows all */

static void
print_reserve(const struct rl_options *o)
{
	if (o->on_full != RL_FULL_RESERVE)
		return;
	if (o->cells > 0)
		printf("cells      %" PRIu32 "\n", o->cells);
	else
		puts("cells      what fits a seventh of the table, or 4 MiB");
	printf("reserves   %" PRIu32 "\n", o->reserves);
}

static void
print_segment(const struct context *context, const struct config *config)
{
	struct rl_options o = config_options(config);

	printf("file       %s\n", config->path);
	printf("segment    %s\n", config_segment(context, config));
	printf("keys       %" PRIu32 "\n", o.keys);
	printf("mode       %04o\n", (unsigned)o.mode);
	printf("group      %s\n", config->group ? config->group : "its creator's");
	printf("key_bytes  %" PRIu32 "\n", config_key_bytes(config));
	printf("ring       %" PRIu32 "\n", o.ring);
	printf("rules      %" PRIu32 "\n", o.rules);
	printf("overrides  %" PRIu32 "\n", o.overrides);
	printf("bans       %" PRIu32 "\n", o.bans);
	printf("holders    %" PRIu32 "\n", o.holders);
	printf("events     %" PRIu32 "\n", o.events == RL_EVENTS_NONE ? 0 : o.events);
	printf("on_full    %s\n", on_full_name(o.on_full));
	print_reserve(&o);
	printf("huge_pages %s\n", o.flags & RL_OPEN_HUGE_PAGES ? "true" : "false");
	printf("interval   %s\n", duration_exact(config->gc_interval_ns).text);
	printf("buffer     %s\n", duration_exact(o.buffer_ns).text);
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
