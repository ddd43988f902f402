/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a limit of a place says beside key and cost: a burst, how many of it need not wait, a
 * capacity. The first limit of its rule has to have that. Of a rule that nginx defines this is
 * known when the configuration is read, and nginx -t refuses it. Of one that rl.json has it is
 * known while nginx runs, and may change: then it is logged, and each request is treated as
 * rl_on_error says.
 */
#include "ngx_rl.h"

static struct ngx_rl_limit **
limits_of(const struct ngx_rl_main *main)
{
	return main->limits.elts;
}

static void
place_item(const struct ngx_rl_limit *limit, struct rl_item *item)
{
	const struct rl_limit *first = &limit->rule->limits[0];
	int is_zone =
		limit->rule->kind == NGX_RL_REQ_ZONE && limit->rule->used_as == NGX_RL_REQ_ZONE;

	if (limit->capacity == NULL && limit->number != first->capacity)
		item->capacity = limit->number;
	if (is_zone && limit->burst == first->burst && limit->undelayed == first->undelayed)
		return; /* as it is defined, so that an administrator may change it */
	item->burst = limit->burst;
	item->undelayed = limit->undelayed;
	item->flags = (limit->has_burst ? RL_ITEM_BURST : 0u) |
	              (limit->has_undelayed ? RL_ITEM_UNDELAYED : 0u);
}

ngx_int_t
ngx_rl_place_check(const struct ngx_rl_limit *limit, const struct rl_limit *first, uint32_t ring,
                   char text[RL_RULE_TEXT_SIZE])
{
	struct rl_options options = {.ring = ring};
	struct rl_item item = {.capacity = limit->number};

	place_item(limit, &item);
	return rl_item_check(first, &item, &options, text, RL_RULE_TEXT_SIZE) == 0 ? NGX_OK
	                                                                           : NGX_ERROR;
}

static ngx_int_t
check(ngx_conf_t *cf, struct ngx_rl_main *main, const struct ngx_rl_limit *limit)
{
	const struct ngx_rl_rule *rule = limit->rule;
	char text[RL_RULE_TEXT_SIZE];

	if (rule->kind == NGX_RL_CONFIGURED ||
	    ngx_rl_place_check(limit, &rule->limits[0], main->segment.options.ring, text) == NGX_OK)
		return NGX_OK;
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
	              "rl: \"%V\" in %s:%ui: %s; add algorithm= to its rl_rule in %s:%ui, or take "
	              "the word away",
	              &rule->name, limit->file, limit->line, text, rule->file, rule->line);
	return NGX_ERROR;
}

static ngx_str_t
key_of(const struct ngx_rl_limit *limit)
{
	static const ngx_str_t address = ngx_string("$rl_client");

	if (limit->key != NULL)
		return limit->key_text;
	return limit->rule->key != NULL ? limit->rule->key_text : address;
}

static int
is_same(const struct ngx_rl_limit *a, const struct ngx_rl_limit *b)
{
	ngx_str_t key = key_of(a), other = key_of(b);

	return a->set == b->set && a->rule == b->rule && key.len == other.len &&
	       ngx_strncmp(key.data, other.data, key.len) == 0;
}

/* A request would be charged twice. */
static ngx_int_t
check_twice(ngx_conf_t *cf, struct ngx_rl_main *main, ngx_uint_t at)
{
	struct ngx_rl_limit *limit = limits_of(main)[at];

	for (ngx_uint_t i = 0; i < at; i++) {
		if (!is_same(limits_of(main)[i], limit))
			continue;
		ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
		              "rl: \"%V\" in %s:%ui stands in this place already, with the same "
		              "key, in %s:%ui",
		              &limit->rule->name, limit->file, limit->line,
		              limits_of(main)[i]->file, limits_of(main)[i]->line);
		return NGX_ERROR;
	}
	return NGX_OK;
}

/* All limits of all its rules; of a rule that rl.json has this is known while nginx runs. */
static ngx_int_t
check_count(ngx_conf_t *cf, struct ngx_rl_main *main, ngx_uint_t at)
{
	struct ngx_rl_limit *limit = limits_of(main)[at];
	unsigned count = 0;

	for (ngx_uint_t i = 0; i <= at; i++)
		if (limits_of(main)[i]->set == limit->set)
			count += ngx_max(limits_of(main)[i]->rule->limit_count, 1u);
	if (count <= RL_ITEMS_MAX)
		return NGX_OK;
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
	              "rl: with \"%V\" in %s:%ui there are more than %d limits in one place",
	              &limit->rule->name, limit->file, limit->line, RL_ITEMS_MAX);
	return NGX_ERROR;
}

ngx_int_t
ngx_rl_places_check(ngx_conf_t *cf, struct ngx_rl_main *main)
{
	for (ngx_uint_t i = 0; i < main->limits.nelts; i++) {
		struct ngx_rl_limit *limit = limits_of(main)[i];

		if (check(cf, main, limit) != NGX_OK || check_twice(cf, main, i) != NGX_OK ||
		    check_count(cf, main, i) != NGX_OK)
			return NGX_ERROR;
		limit->item.cost = 1;
		place_item(limit, &limit->item);
	}
	return NGX_OK;
}

void
ngx_rl_places_review(struct ngx_rl_main *main, const struct ngx_rl_rule *rule,
                     const struct rl_limit *first, ngx_log_t *log)
{
	char text[RL_RULE_TEXT_SIZE];
	struct rl_info info;

	rl_info(main->segment.handle->rl, &info);
	for (ngx_uint_t i = 0; i < main->limits.nelts; i++) {
		const struct ngx_rl_limit *limit = limits_of(main)[i];

		if (limit->rule != rule ||
		    ngx_rl_place_check(limit, first, info.ring, text) == NGX_OK)
			continue;
		ngx_log_error(NGX_LOG_ERR, log, 0,
		              "rl: rule \"%V\" is another in segment \"%V\" than %s:%ui asks for: "
		              "%s; until it is changed, requests there are treated as "
		              "rl_on_error says",
		              &rule->name, &main->segment.name, limit->file, limit->line, text);
	}
}
