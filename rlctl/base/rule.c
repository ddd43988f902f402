/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "text/suggest.h"

bool
rule_read(struct rl *rl, int id, struct rl_rule_info *info)
{
	if (id < 0 || !rl_rule_info(rl, id, info))
		return false;
	if (info->name[0] == '\0')
		snprintf(info->name, sizeof(info->name), "#%d", id);
	return true;
}

/* Rules as suggest() takes them; `names` has a place for each, and one more. */
static void
gather_names(struct rl *rl, uint32_t rules, struct rl_rule_info *infos, const char **names)
{
	size_t count = 0;

	for (uint32_t id = 0; id < rules; id++)
		if (rule_read(rl, (int)id, &infos[count])) {
			names[count] = infos[count].name;
			count++;
		}
	names[count] = NULL;
}

static void
complain_unknown(struct rl *rl, const char *name)
{
	char *shown = escape(name, strlen(name));
	struct rl_rule_info *infos;
	const char **names, *near;
	struct rl_info info;

	rl_info(rl, &info);
	infos = need(calloc(info.rules + 1, sizeof(*infos)));
	names = need(calloc(info.rules + 1, sizeof(*names)));
	gather_names(rl, info.rules, infos, names);
	near = suggest(name, names);
	if (near)
		complain("unknown rule '%s'; did you mean '%s'?", shown, near);
	else
		complain("unknown rule '%s'; 'rlctl status' shows all", shown);
	free(names);
	free(infos);
	free(shown);
}

int
rule_need(struct rl *rl, const char *name)
{
	int rule = rl_find(rl, name);

	if (rule >= 0)
		return rule;
	complain_unknown(rl, name);
	return RULE_UNKNOWN;
}

int
rule_option(struct rl *rl, const struct context *context)
{
	const char *name = option_value(context, "rule");

	return name ? rule_need(rl, name) : RL_ANY_RULE;
}

const char *
source_name(enum rl_source source)
{
	switch (source) {
	case RL_SOURCE_APPLICATION:
		return "application";
	case RL_SOURCE_CONFIGURATION:
		return "configuration";
	case RL_SOURCE_NONE:
		break;
	}
	return "removed";
}

struct rule_text
rule_label(struct rl *rl, int rule)
{
	struct rl_rule_info info;
	struct rule_text out = {"any"};

	if (rule >= 0)
		snprintf(out.text, sizeof(out.text), "%s",
		         rule_read(rl, rule, &info) ? info.name : "-");
	return out;
}

struct rule_text
limit_label(struct rl *rl, int rule, unsigned limit)
{
	struct rule_text out = {"-"};
	struct rl_rule_info info;

	if (!rule_read(rl, rule, &info))
		return out;
	if (info.limit_count > 1)
		snprintf(out.text, sizeof(out.text), "%s(%u)", info.name, limit + 1);
	else
		snprintf(out.text, sizeof(out.text), "%s", info.name);
	return out;
}

json_t *
json_rule_name(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	return rule_read(rl, rule, &info) ? json_text(info.name) : json_null();
}
