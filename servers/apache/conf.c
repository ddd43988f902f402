/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf.h"

#include <apr_strings.h>

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
