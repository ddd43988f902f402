/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf.h"

#include <apr_strings.h>

#include "text.h"

struct server_conf *server_conf;
const struct block no_block;

void
create_server_conf(apr_pool_t *pool)
{
	server_conf = apr_pcalloc(pool, sizeof(*server_conf));
	server_conf->segment = DEFAULT_SEGMENT;
	server_conf->rules = apr_array_make(pool, 8, sizeof(struct rule *));
	server_conf->limits = apr_array_make(pool, 8, sizeof(struct limit *));
}

void *
create_section(apr_pool_t *pool, char *dir)
{
	struct section *s = apr_pcalloc(pool, sizeof(*s));

	(void)dir;
	s->status = s->fields = s->log_level = s->is_dry_run = s->denies_on_error = UNSET;
	s->has_problem = UNSET;
	s->prefix_v4 = s->prefix_v6 = UNSET;
	return s;
}

/* Two arrays in one, shared where one of them is empty; NULL if there is nothing. */
static apr_array_header_t *
join(apr_pool_t *pool, apr_array_header_t *outer, apr_array_header_t *inner)
{
	if (inner == NULL || outer == NULL)
		return inner ? inner : outer;
	return apr_array_append(pool, outer, inner);
}

int
says_the_same(const struct limit *a, const struct limit *b)
{
	return a->rule == b->rule && strcmp(a->key_text, b->key_text) == 0;
}

/* Limits add up; one with the rule and the key of an outer one takes its place. */
static apr_array_header_t *
join_limits(apr_pool_t *pool, apr_array_header_t *outer, apr_array_header_t *inner)
{
	apr_array_header_t *all;

	if (inner == NULL || outer == NULL)
		return inner ? inner : outer;
	all = apr_array_make(pool, outer->nelts + inner->nelts, sizeof(struct limit *));
	for (int i = 0; i < outer->nelts; i++) {
		const struct limit *old = APR_ARRAY_IDX(outer, i, struct limit *);
		int is_replaced = 0;

		for (int j = 0; j < inner->nelts && !is_replaced; j++)
			is_replaced = says_the_same(old, APR_ARRAY_IDX(inner, j, struct limit *));
		if (!is_replaced)
			APR_ARRAY_PUSH(all, const struct limit *) = old;
	}
	apr_array_cat(all, inner);
	return all;
}

void *
merge_sections(apr_pool_t *pool, void *outer, void *inner)
{
	const struct section *o = outer, *i = inner;
	struct section *s = apr_palloc(pool, sizeof(*s));

	s->drops_limits = o->drops_limits || i->drops_limits;
	s->drops_allows = o->drops_allows || i->drops_allows;
	s->limits = join_limits(pool, i->drops_limits ? NULL : o->limits, i->limits);
	s->settles = join(pool, o->settles, i->settles);
	s->allows = join(pool, i->drops_allows ? NULL : o->allows, i->allows);
	s->block = i->block ? i->block : o->block;
	s->status = or_default(i->status, o->status);
	s->fields = or_default(i->fields, o->fields);
	s->log_level = or_default(i->log_level, o->log_level);
	s->is_dry_run = or_default(i->is_dry_run, o->is_dry_run);
	s->denies_on_error = or_default(i->denies_on_error, o->denies_on_error);
	s->has_problem = or_default(i->has_problem, o->has_problem);
	s->prefix_v4 = or_default(i->prefix_v4, o->prefix_v4);
	s->prefix_v6 = or_default(i->prefix_v6, o->prefix_v6);
	return s;
}

struct rule *
rule_named(apr_pool_t *pool, const char *name)
{
	struct rule *rule;

	for (int i = 0; i < server_conf->rules->nelts; i++) {
		rule = APR_ARRAY_IDX(server_conf->rules, i, struct rule *);
		if (strcmp(rule->name, name) == 0)
			return rule;
	}
	rule = apr_pcalloc(pool, sizeof(*rule));
	rule->name = apr_pstrdup(pool, name);
	rule->index = (size_t)server_conf->rules->nelts;
	APR_ARRAY_PUSH(server_conf->rules, struct rule *) = rule;
	return rule;
}

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
