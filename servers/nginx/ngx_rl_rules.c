/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of a block, and the same in the segment. */
#include "ngx_rl.h"

static struct ngx_rl_rule **
rules_of(const struct ngx_rl_main *main)
{
	return main->rules.elts;
}

struct ngx_rl_rule *
ngx_rl_rule_get(ngx_conf_t *cf, struct ngx_rl_main *main, const ngx_str_t *name)
{
	struct ngx_rl_rule *rule, **place;

	for (ngx_uint_t i = 0; i < main->rules.nelts; i++) {
		rule = rules_of(main)[i];
		if (rule->name.len == name->len &&
		    ngx_strncmp(rule->name.data, name->data, name->len) == 0)
			return rule;
	}
	rule = ngx_pcalloc(cf->pool, sizeof *rule);
	place = ngx_array_push(&main->rules);
	if (rule == NULL || place == NULL)
		return NULL;
	*place = rule;
	rule->name.data = ngx_pnalloc(cf->pool, name->len + 1);
	if (rule->name.data == NULL)
		return NULL;
	rule->name.len = name->len;
	*ngx_cpymem(rule->name.data, name->data, name->len) = '\0';
	ngx_rl_place(cf, &rule->file, &rule->line);
	rule->index = main->rules.nelts - 1;
	rule->id = -ENOENT;
	return rule;
}

/* As rl_define() takes it. */
static struct rl_rule
definition(const struct ngx_rl_rule *rule)
{
	return (struct rl_rule){.name = (const char *)rule->name.data,
	                        .limit = rule->limits[0],
	                        .more = rule->limit_count > 1 ? &rule->limits[1] : NULL,
	                        .more_count = rule->limit_count > 1 ? rule->limit_count - 1 : 0};
}

static ngx_int_t
complain(ngx_conf_t *cf, const struct ngx_rl_rule *rule, const char *why)
{
	ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "rl: \"%V\": %s in %s:%ui", &rule->name, why,
	              rule->file, rule->line);
	return NGX_ERROR;
}

/* What rl_rule has not said of its limits; a zone has said all. */
static ngx_int_t
finish(struct ngx_rl_rule *rule, uint32_t ring, char text[RLB_TEXT_SIZE])
{
	for (unsigned i = 0; rule->kind == NGX_RL_RULE && i < rule->limit_count; i++) {
		if (rlb_limit_finish(&rule->said[i], ring, text) < 0)
			return NGX_ERROR;
		rule->limits[i] = rule->said[i].limit;
	}
	return NGX_OK;
}

static ngx_int_t
check(ngx_conf_t *cf, struct ngx_rl_main *main, struct ngx_rl_rule *rule)
{
	struct rl_rule as_defined;
	char text[RL_RULE_TEXT_SIZE], unfinished[RLB_TEXT_SIZE];

	if (rule->kind == NGX_RL_UNDECLARED)
		return complain(cf, rule, "there is no rule or zone of this name,");
	if (rule->used_as != NGX_RL_UNDECLARED && rule->used_as != rule->kind)
		return complain(cf, rule,
		                rule->used_as == NGX_RL_REQ_ZONE
		                        ? "rl_limit_req needs a zone of rl_limit_req_zone,"
		                        : "rl_limit_conn needs a zone of rl_limit_conn_zone,");
	if (rule->kind == NGX_RL_CONFIGURED)
		return NGX_OK;
	if (finish(rule, main->segment.options.ring, unfinished) != NGX_OK)
		return complain(cf, rule, unfinished);
	as_defined = definition(rule);
	if (rl_rule_check(&as_defined, &main->segment.options, text, sizeof text) == 0)
		return NGX_OK;
	return complain(cf, rule, text);
}

/*
 * The name of the segment where none is given: "nginx". A server with another prefix than the one
 * it was built with is another server, as the one that somebody tries things out with: its counters
 * are its own, in "nginx-", and a checksum of the prefix.
 */
static ngx_int_t
name_segment(ngx_conf_t *cf, ngx_str_t *name)
{
	ngx_str_t usual = ngx_string(NGX_PREFIX), *prefix = &cf->cycle->prefix;
	u_char *end;

	name->data = ngx_pnalloc(cf->pool, sizeof "nginx-01234567");
	if (name->data == NULL)
		return NGX_ERROR;
	if (prefix->len == usual.len && ngx_strncmp(prefix->data, usual.data, usual.len) == 0)
		end = ngx_cpymem(name->data, "nginx", 5);
	else
		end = ngx_sprintf(name->data, "nginx-%08xD",
		                  ngx_crc32_long(prefix->data, prefix->len));
	*end = '\0';
	name->len = (size_t)(end - name->data);
	return NGX_OK;
}

#define ZONE_KEY_BYTES 128 /* of a zone for a key, as nginx's manual has it */

static ngx_int_t
complete_segment(ngx_conf_t *cf, struct ngx_rl_main *main)
{
	struct ngx_rl_segment *segment = &main->segment;
	size_t keys = segment->zone_bytes / ZONE_KEY_BYTES;

	if (segment->options.keys == 0 && keys > RL_KEYS_DEFAULT)
		segment->options.keys = keys < RL_KEYS_MAX ? (uint32_t)keys : RL_KEYS_MAX;
	if (segment->options.rules == 0 && main->rules.nelts > RL_RULES_DEFAULT / 2)
		segment->options.rules = 2 * main->rules.nelts < RL_RULES_MAX
		                                 ? (uint32_t)(2 * main->rules.nelts)
		                                 : RL_RULES_MAX;
	return segment->name.len > 0 ? NGX_OK : name_segment(cf, &segment->name);
}

/*
 * Where rl_segment does not say how long it is, any window has room, that of a rule that comes with
 * a reload, too.
 */
static void
complete_ring(struct ngx_rl_segment *segment)
{
	segment->ring = segment->options.ring;
	if (segment->ring == 0)
		segment->options.ring = RL_GRANULARITY_MAX;
}

ngx_int_t
ngx_rl_rules_check(ngx_conf_t *cf, struct ngx_rl_main *main)
{
	complete_ring(&main->segment);
	for (ngx_uint_t i = 0; i < main->rules.nelts; i++)
		if (check(cf, main, rules_of(main)[i]) != NGX_OK)
			return NGX_ERROR;
	if (ngx_rl_places_check(cf, main) != NGX_OK)
		return NGX_ERROR;
	return complete_segment(cf, main);
}

static int
define(struct ngx_rl_main *main, struct ngx_rl_rule *rule, unsigned flags)
{
	struct rl_rule as_defined = definition(rule);

	as_defined.flags = flags;
	return rl_define(main->segment.handle->rl, &as_defined);
}

/*
 * One that is there as another is replaced, and that is logged: some program says otherwise, or
 * this one did.
 */
static int
define_or_replace(struct ngx_rl_main *main, struct ngx_rl_rule *rule, ngx_log_t *log)
{
	int id = define(main, rule, RL_DEFINE_KEEP);

	if (id != RL_EDEFINED)
		return id;
	id = define(main, rule, 0);
	if (id >= 0)
		ngx_log_error(NGX_LOG_WARN, log, 0,
		              "rl: rule \"%V\" was defined otherwise in segment \"%V\", by another "
		              "program or by this one before; it is as %s:%ui says now",
		              &rule->name, &main->segment.name, rule->file, rule->line);
	return id;
}

static void
settle(struct ngx_rl_main *main, struct ngx_rl_rule *rule, ngx_log_t *log)
{
	if (rule->kind == NGX_RL_CONFIGURED)
		rule->id = rl_find(main->segment.handle->rl, (const char *)rule->name.data);
	else
		rule->id = define_or_replace(main, rule, log);
	if (rule->id < 0 && ngx_rl_report_is_new(main, NGX_RL_REPORT_RULE(rule), rule->id))
		ngx_log_error(NGX_LOG_ERR, log, 0,
		              "rl: rule \"%V\" cannot be %s in segment \"%V\": %s: %s; %s",
		              &rule->name, rule->kind == NGX_RL_CONFIGURED ? "found" : "defined",
		              &main->segment.name, rl_strerror(rule->id), rl_error_remedy(rule->id),
		              "until it can be, requests are treated as rl_on_error says");
}

/* Who has replaced the rule knows why: it stays as it is now. */
static void
review_definition(struct ngx_rl_main *main, struct ngx_rl_rule *rule, ngx_log_t *log)
{
	if (rule->kind != NGX_RL_CONFIGURED && define(main, rule, RL_DEFINE_KEEP) == RL_EDEFINED)
		ngx_log_error(NGX_LOG_ERR, log, 0,
		              "rl: rule \"%V\" is defined otherwise in segment \"%V\" by another "
		              "program than in %s:%ui, and so it is for both; give them two names, "
		              "or define it in rl.json",
		              &rule->name, &main->segment.name, rule->file, rule->line);
}

static void
keep(struct ngx_rl_rule *rule, const struct rl_rule_info *info, uint32_t sum)
{
	rule->now.sum = sum;
	rule->now.needs = info->needs;
	rule->now.limit_count = info->limit_count;
	ngx_memcpy(rule->now.limits, info->limits, sizeof info->limits);
	for (unsigned i = 0; i < RL_LIMITS_MAX; i++)
		rule->now.policies[i].len = 0;
}

static void
review(struct ngx_rl_main *main, struct ngx_rl_rule *rule, ngx_log_t *log)
{
	struct rl_rule_info info;
	uint32_t sum;

	if (rl_rule_info(main->segment.handle->rl, rule->id, &info) != 1 || info.limit_count == 0) {
		rule->now.limit_count = 0;
		return;
	}
	sum = ngx_crc32_long((u_char *)info.limits, info.limit_count * sizeof info.limits[0]);
	if (rule->now.limit_count == 0 || rule->now.sum != sum)
		keep(rule, &info, sum);
	if (!ngx_rl_report_is_other(main, NGX_RL_REPORT_LIMITS(rule), sum))
		return;
	review_definition(main, rule, log);
	ngx_rl_places_review(main, rule, &info.limits[0], log);
}

void
ngx_rl_rules_settle(struct ngx_rl_main *main, ngx_log_t *log)
{
	for (ngx_uint_t i = 0; i < main->rules.nelts; i++) {
		if (rules_of(main)[i]->id < 0)
			settle(main, rules_of(main)[i], log);
		if (rules_of(main)[i]->id >= 0)
			review(main, rules_of(main)[i], log);
	}
}

void
ngx_rl_rules_unsettle(struct ngx_rl_main *main)
{
	for (ngx_uint_t i = 0; i < main->rules.nelts; i++)
		rules_of(main)[i]->id = -ENOENT;
}
