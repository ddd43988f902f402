/* SPDX-License-Identifier: BSD-2-Clause */
/* After all directives: whether what they say together can be. */
#include "conf.h"
#include "text.h"

#include <apr_strings.h>

/* A new segment gets a ring for all rules, unless RLSegment says another. */
static void
size_ring(uint32_t *ring)
{
	*ring = RL_GRANULARITY_MAX; /* of any window, that of a rule that comes with a reload,
	                               too */
	for (int i = 0; i < server_conf->rules->nelts; i++) {
		const struct rule *rule = APR_ARRAY_IDX(server_conf->rules, i, struct rule *);

		for (size_t j = 0; j < rule->limit_count; j++) {
			const struct rl_limit *limit = &rule->limits[j];
			uint32_t per_unit = rl_algorithm_info(limit->algorithm)->ring_per_unit;
			uint64_t need = (uint64_t)per_unit * limit->capacity;

			if (need > *ring && need <= RL_RING_MAX)
				*ring = (uint32_t)need;
		}
	}
}

static const char *
check_rule(apr_pool_t *pool, const struct rule *rule)
{
	char text[RL_RULE_TEXT_SIZE];
	struct rl_rule def = {.name = rule->name,
	                      .limit = rule->limits[0],
	                      .more = rule->limits + 1,
	                      .more_count = rule->limit_count - 1};

	if (!rule->defined)
		return apr_pstrcat(pool, rule->used, ": no RLRule defines \"", rule->name, "\"",
		                   NULL);
	if (rule->is_configured ||
	    rl_rule_check(&def, &server_conf->options, text, sizeof(text)) == 0)
		return NULL;
	return apr_pstrcat(pool, rule->defined, ": RLRule ", rule->name, ": ", text, NULL);
}

int
check_limit(const struct limit *limit, const struct rl_limit *first, uint32_t ring,
            char text[RL_RULE_TEXT_SIZE])
{
	struct rl_options options = {.ring = ring};
	struct rl_item item = {.capacity = limit->fixed_capacity,
	                       .burst = limit->burst,
	                       .undelayed = limit->undelayed,
	                       .flags = limit->flags};

	return rl_item_check(first, &item, &options, text, RL_RULE_TEXT_SIZE);
}

/* Of a rule that rl.json has this is seen while the server runs. */
static const char *
check_place(apr_pool_t *pool, const struct limit *limit)
{
	const struct rule *rule = limit->rule;
	char text[RL_RULE_TEXT_SIZE];

	if (rule->is_configured ||
	    check_limit(limit, &rule->limits[0], server_conf->options.ring, text) == 0)
		return NULL;
	return apr_pstrcat(pool, limit->where, ": RLLimit ", rule->name, ": ", text,
	                   "; add algorithm= to its RLRule at ", rule->defined,
	                   ", or take the word away", NULL);
}

const char *
check_rules(apr_pool_t *pool)
{
	const char *wrong = NULL;

	server_conf->ring = server_conf->options.ring;
	if (server_conf->ring == 0)
		size_ring(&server_conf->options.ring);
	if (server_conf->options.rules == 0 && server_conf->rules->nelts > RL_RULES_DEFAULT)
		server_conf->options.rules = (uint32_t)server_conf->rules->nelts;
	if (server_conf->options.bans == 0 && server_conf->has_block)
		server_conf->options.bans = BLOCK_BANS;
	if (server_conf->rules->nelts > RL_RULES_MAX)
		return apr_psprintf(pool, "%d rules; a segment has at most %d",
		                    server_conf->rules->nelts, RL_RULES_MAX);
	for (int i = 0; i < server_conf->rules->nelts && !wrong; i++) {
		struct rule *rule = APR_ARRAY_IDX(server_conf->rules, i, struct rule *);

		wrong = complete_limits(pool, rule);
		if (!wrong)
			wrong = check_rule(pool, rule);
	}
	for (int i = 0; i < server_conf->limits->nelts && !wrong; i++)
		wrong = check_place(pool, APR_ARRAY_IDX(server_conf->limits, i, struct limit *));
	return wrong;
}
