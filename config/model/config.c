/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>
#include <string.h>

#include "model/config.h"
#include "read/source.h"

#define INTERVAL_DEFAULT (10 * RL_SECOND)

struct config *
config_create(const char *path)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config)
		return NULL;
	*config = (struct config){
		.path = strdup(path),
		.name = "default",
		.gc_interval_ns = INTERVAL_DEFAULT,
		.source = calloc(1, sizeof(*config->source)),
	};
	if (config->path && config->source)
		return config;
	config_free(config);
	return NULL;
}

static void
free_rule(struct rl_config_rule *rule)
{
	free((void *)rule->rule.name);
	free((void *)rule->rule.more);
	free((void *)rule->overrides);
}

static void
free_cluster(struct config_cluster *c)
{
	for (size_t i = 0; i < c->node_count; i++)
		free(c->nodes[i].host);
	free(c->nodes);
	free(c->tls_ca);
	free(c->tls_cert);
	free(c->tls_key);
	free(c->tls_server_name);
	free(c->sentinel);
	free(c->user);
	free(c->password_file);
	free(c->secret_file);
}

void
config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->rule_count; i++)
		free_rule(&config->rules[i]);
	source_free(config->source, config->rule_count);
	free_cluster(&config->cluster);
	free(config->rules);
	free(config->group);
	free(config->path);
	free(config);
}

static uint32_t
or_default(uint32_t wish, uint32_t usual)
{
	return wish ? wish : usual;
}

/* Of a file without rules, for those that programs define: as bindings have them. */
#define RING_OF_OTHERS 64

struct rl_options
config_options(const struct config *config)
{
	struct rl_options o = config->options;

	o.keys = or_default(o.keys, RL_KEYS_DEFAULT);
	o.ring = or_default(o.ring, config->rule_count == 0 ? RING_OF_OTHERS : RL_RING_DEFAULT);
	o.key_bytes = or_default(o.key_bytes, RL_KEY_BYTES_DEFAULT);
	o.rules = or_default(o.rules, RL_RULES_DEFAULT);
	o.overrides = or_default(o.overrides, RL_OVERRIDES_DEFAULT);
	o.bans = or_default(o.bans, RL_BANS_DEFAULT);
	o.holders = or_default(o.holders, RL_HOLDERS_DEFAULT);
	o.events = or_default(o.events, RL_EVENTS_DEFAULT);
	if (o.on_full == RL_FULL_RESERVE)
		o.reserves = or_default(o.reserves,
		                        o.cells > 0 ? RL_RESERVES_OF_CELLS : RL_RESERVES_DEFAULT);
	o.mode = o.mode ? o.mode : RL_MODE_DEFAULT;
	o.buffer_ns = o.buffer_ns ? o.buffer_ns : RL_BUFFER_DEFAULT;
	return o;
}

bool
config_says_ring(const struct config *config)
{
	return config->source->segment[SEGMENT_RING] > 0;
}

uint32_t
config_key_bytes(const struct config *config)
{
	uint32_t bytes = config_options(config).key_bytes;

	return bytes == RL_KEY_BYTES_NONE ? 0 : bytes;
}

const struct rl_limit *
config_limit(const struct rl_rule *rule, size_t i)
{
	return i == 0 ? &rule->limit : &rule->more[i - 1];
}

size_t
config_limit_count(const struct rl_rule *rule)
{
	return rule->more_count + 1;
}

static void
join_limit(struct rl_limit *limit)
{
	limit->scope = RL_SCOPE_HOST;
	limit->blind = 0;
	limit->away = 0;
}

void
config_join(struct config *config)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		struct rl_rule *rule = &config->rules[i].rule;

		join_limit(&rule->limit);
		for (size_t j = 0; j < rule->more_count; j++)
			join_limit((struct rl_limit *)&rule->more[j]);
	}
}

bool
config_has_rule(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->rule_count; i++)
		if (strcmp(config->rules[i].rule.name, name) == 0)
			return true;
	return false;
}
