/* SPDX-License-Identifier: BSD-2-Clause */

#include <rl_fields.h>
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

/* Of a file without rules, for those that programs define: as bindings have them. */
#define RING_OF_OTHERS 64

struct rl_options
config_options(const struct config *config)
{
	struct rl_options o = config->options;
	const struct rl_field *field;

	if (o.ring == 0 && config->rule_count == 0)
		o.ring = RING_OF_OTHERS;
	if (o.reserves == 0 && o.cells > 0)
		o.reserves = RL_RESERVES_OF_CELLS;
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++)
		if (rl_field_get(field, &o) == 0 &&
		    !(field->marks & RL_FIELD_RESERVE && o.on_full != RL_FULL_RESERVE))
			rl_field_set(field, &o, field->usual);
	return o;
}

bool
config_says_ring(const struct config *config)
{
	return config->source->segment[SEGMENT_ring] > 0;
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
