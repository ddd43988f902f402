/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/configured.h"

#include <inttypes.h>
#include <load/load.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rule.h"

static void
be_silent(enum config_level level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

static void
append(struct active_bans *found, int rule, const struct rl_override *override)
{
	const struct rl_pattern *pattern = &override->pattern;
	void *copy = memcpy(need(malloc(pattern->key_len + 1)), pattern->key, pattern->key_len);

	found->items = array_grow(found->items, found->count, &found->room, sizeof(*found->items));
	found->items[found->count++] = (struct active_ban){
		.rule = rule,
		.is_configured = true,
		.is_exemption = override->kind == RL_OVERRIDE_UNLIMITED,
		.match = pattern->match,
		.key = {copy, pattern->key_len, pattern->key_len, 0},
		.until_ns = RL_NEVER_NS,
	};
}

/* Those of the file that the segment has, too; how many, whatever they say. */
static uint64_t
take_rule(struct rl *rl, int id, const struct rl_config_rule *rule, struct active_bans *found)
{
	struct rl_override in_force;
	uint64_t known = 0;

	for (size_t i = 0; i < rule->override_count; i++) {
		if (rl_override_info(rl, id, &rule->overrides[i].pattern, &in_force) != 1)
			continue;
		known++;
		if (in_force.kind != RL_OVERRIDE_CAPACITY)
			append(found, id, &in_force);
	}
	return known;
}

static uint64_t
take_file(struct rl *rl, int rule, const struct config *config, struct active_bans *found)
{
	uint64_t known = 0;

	for (size_t i = 0; config && i < config->rule_count; i++) {
		int id = rl_find(rl, config->rules[i].rule.name);

		if (id >= 0 && (rule == RL_ANY_RULE || rule == id))
			known += take_rule(rl, id, &config->rules[i], found);
	}
	return known;
}

static uint64_t
count_overrides(struct rl *rl, int rule)
{
	struct rl_info info;
	uint64_t count = 0;

	if (rule != RL_ANY_RULE)
		return rl_override_count(rl, rule);
	rl_info(rl, &info);
	for (uint32_t id = 0; id < info.rules; id++)
		count += rl_override_count(rl, (int)id);
	return count;
}

void
active_bans_add_configured(struct rl *rl, int rule, const char *path, struct active_bans *found)
{
	uint64_t count = count_overrides(rl, rule), known;
	struct config *config = count > 0 ? config_load(path, be_silent, NULL) : NULL;

	if (count == 0)
		return;
	known = take_file(rl, rule, config, found);
	config_free(config);
	if (known < count)
		complain("%" PRIu64 " overrides of the configuration in force are not in %s, and "
		         "the segment does not keep their names: those that ban are not shown; "
		         "give their file with --config",
		         count - known, path);
}
