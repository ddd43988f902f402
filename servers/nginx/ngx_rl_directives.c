/* SPDX-License-Identifier: BSD-2-Clause */
/* The directives that both kinds of blocks have. They read, and touch no segment. */
#include "ngx_rl.h"

ngx_conf_enum_t ngx_rl_log_levels[] = {
	{ngx_string("info"), NGX_LOG_INFO},
	{ngx_string("notice"), NGX_LOG_NOTICE},
	{ngx_string("warn"), NGX_LOG_WARN},
	{ngx_string("error"), NGX_LOG_ERR},
	{ngx_null_string, 0},
};

ngx_int_t
ngx_rl_main_init(ngx_conf_t *cf, struct ngx_rl_main *main)
{
	if (ngx_array_init(&main->rules, cf->pool, 8, sizeof(struct ngx_rl_rule *)) != NGX_OK)
		return NGX_ERROR;
	return ngx_array_init(&main->limits, cf->pool, 8, sizeof(struct ngx_rl_limit *));
}

void
ngx_rl_set_init(struct ngx_rl_set *set)
{
	set->status = NGX_CONF_UNSET_UINT;
	set->log_level = NGX_CONF_UNSET_UINT;
	set->dry_run = NGX_CONF_UNSET;
	set->on_error = NGX_CONF_UNSET_UINT;
}

void
ngx_rl_set_merge(struct ngx_rl_set *set, const struct ngx_rl_set *outer, ngx_uint_t status)
{
	if (set->limits == NULL && !set->is_off)
		set->limits = outer->limits;
	if (set->settles == NULL)
		set->settles = outer->settles;
	set->has_answers = ngx_rl_answer_has_any(set);
	ngx_conf_merge_uint_value(set->status, outer->status, status);
	ngx_conf_merge_uint_value(set->log_level, outer->log_level, NGX_LOG_ERR);
	ngx_conf_merge_value(set->dry_run, outer->dry_run, 0);
	ngx_conf_merge_uint_value(set->on_error, outer->on_error, NGX_RL_ON_ERROR_ALLOW);
	set->delay_log_level = set->log_level == NGX_LOG_INFO ? NGX_LOG_INFO : set->log_level + 1;
}

static char *
declare(ngx_conf_t *cf, struct ngx_rl_rule *rule, enum ngx_rl_kind kind)
{
	if (rule->kind != NGX_RL_UNDECLARED) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" is declared already, in %s:%ui",
		                   &rule->name, rule->file, rule->line);
		return NGX_CONF_ERROR;
	}
	rule->kind = kind;
	ngx_rl_place(cf, &rule->file, &rule->line);
	return NGX_CONF_OK;
}

/* A rate or in_flight=N, or a word behind one; `why` is what is wrong with it. */
static int
read_word(struct ngx_rl_rule *rule, const char *word, char why[RLB_TEXT_SIZE])
{
	struct rlb_limit limit;
	int begins = rlb_word_begins(word, &limit);

	if (begins == 0 && rule->limit_count > 0)
		return rlb_word_of_limit(word, &rule->said[rule->limit_count - 1], why);
	snprintf(why, RLB_TEXT_SIZE,
	         "a rate such as 5/min is expected first, and no more than 8 of them");
	if (begins <= 0 || rule->limit_count == RL_LIMITS_MAX)
		return -EINVAL;
	rule->said[rule->limit_count++] = limit;
	return 0;
}

static char *
rule_word(ngx_conf_t *cf, struct ngx_rl_rule *rule, const ngx_str_t *word)
{
	char why[RLB_TEXT_SIZE];

	if (read_word(rule, (const char *)word->data, why) == 0)
		return NGX_CONF_OK;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\": %s", word, why);
	return NGX_CONF_ERROR;
}

/* rl_rule NAME RATE [WORD...]...; rl_rule NAME configured; */
char *
ngx_rl_rule_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = conf;
	ngx_str_t *words = cf->args->elts;
	struct ngx_rl_rule *rule = ngx_rl_rule_get(cf, main, &words[1]);
	int is_configured = cf->args->nelts == 3 && ngx_strcmp(words[2].data, "configured") == 0;

	(void)cmd;
	if (ngx_strcmp(words[1].data, "off") == 0)
		return "cannot have the name \"off\", which rl_limit has for no limit";
	if (rule == NULL)
		return NGX_CONF_ERROR;
	if (declare(cf, rule, is_configured ? NGX_RL_CONFIGURED : NGX_RL_RULE) != NGX_CONF_OK)
		return NGX_CONF_ERROR;
	for (ngx_uint_t i = 2; i < cf->args->nelts && !is_configured; i++)
		if (rule_word(cf, rule, &words[i]) != NGX_CONF_OK)
			return NGX_CONF_ERROR;
	return NGX_CONF_OK;
}

/* zone=NAME:SIZE; the size says how many keys there may be, at 128 bytes each as nginx has it. */
static ngx_int_t
parse_zone(ngx_conf_t *cf, const ngx_str_t *text, ngx_str_t *name, ssize_t *size)
{
	u_char *colon = ngx_strlchr(text->data, text->data + text->len, ':');
	ngx_str_t bytes;

	if (colon == NULL || colon == text->data) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid zone size \"zone=%V\"", text);
		return NGX_ERROR;
	}
	*name = (ngx_str_t){(size_t)(colon - text->data), text->data};
	bytes = (ngx_str_t){(size_t)(text->data + text->len - colon - 1), colon + 1};
	*size = ngx_parse_size(&bytes);
	if (*size == NGX_ERROR) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid zone size \"zone=%V\"", text);
		return NGX_ERROR;
	}
	if (*size < (ssize_t)(8 * ngx_pagesize)) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "zone \"%V\" is too small", name);
		return NGX_ERROR;
	}
	return NGX_OK;
}

struct zone_words {
	ngx_str_t name;
	ssize_t size;
	struct rl_limit limit;
	int has_rate;
};

static char *
zone_word(ngx_conf_t *cf, const ngx_str_t *word, enum ngx_rl_kind kind, struct zone_words *zone)
{
	ngx_str_t text;

	if (ngx_rl_option(word, "zone", &text))
		return parse_zone(cf, &text, &zone->name, &zone->size) == NGX_OK ? NGX_CONF_OK
		                                                                 : NGX_CONF_ERROR;
	if (kind == NGX_RL_REQ_ZONE && ngx_rl_option(word, "rate", &text)) {
		zone->has_rate = 1;
		if (ngx_strlchr(text.data, text.data + text.len, 'r') != NULL &&
		    ngx_rl_parse_rate(&text, &zone->limit) == NGX_OK)
			return NGX_CONF_OK;
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid rate \"%V\"", word);
		return NGX_CONF_ERROR;
	}
	return ngx_rl_bad_word(cf, word);
}

/*
 * rl_limit_req_zone KEY zone=NAME:SIZE [rate=RATE]; rl_limit_conn_zone KEY zone=NAME:SIZE; Without
 * a rate it is one request a second, as limit_req_zone has it.
 */
static char *
set_zone(ngx_conf_t *cf, struct ngx_rl_main *main, enum ngx_rl_kind kind)
{
	ngx_str_t *words = cf->args->elts;
	struct zone_words zone = {
		.limit = {.algorithm = RL_LEAKY_BUCKET, .capacity = 1, .window_ns = RL_SECOND}};
	struct ngx_rl_rule *rule;

	if (kind == NGX_RL_CONN_ZONE)
		zone.limit = (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 1};
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++)
		if (zone_word(cf, &words[i], kind, &zone) != NGX_CONF_OK)
			return NGX_CONF_ERROR;
	if (zone.name.len == 0) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" must have \"zone\" parameter",
		                   &words[0]);
		return NGX_CONF_ERROR;
	}
	rule = ngx_rl_rule_get(cf, main, &zone.name);
	if (rule == NULL)
		return NGX_CONF_ERROR;
	if (rule->kind == kind) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V \"%V\" is already bound to key \"%V\"",
		                   &words[0], &rule->name, &rule->key_text);
		return NGX_CONF_ERROR;
	}
	if (declare(cf, rule, kind) != NGX_CONF_OK)
		return NGX_CONF_ERROR;
	rule->key_text = words[1];
	rule->key = main->compile(cf, &words[1]);
	rule->limits[0].algorithm = zone.limit.algorithm;
	rule->limits[0].window_ns = zone.limit.window_ns;
	if (kind == NGX_RL_REQ_ZONE || !rule->has_use)
		rule->limits[0].capacity = zone.limit.capacity;
	rule->limit_count = 1;
	main->segment.zone_bytes += (size_t)zone.size;
	return rule->key == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
}

char *
ngx_rl_req_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	(void)cmd;
	return set_zone(cf, conf, NGX_RL_REQ_ZONE);
}

char *
ngx_rl_conn_zone_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	(void)cmd;
	return set_zone(cf, conf, NGX_RL_CONN_ZONE);
}

/* Add a limit to a set, and to those of all places. */
static char *
add_limit(ngx_conf_t *cf, struct ngx_rl_main *main, struct ngx_rl_set *set,
          const struct ngx_rl_limit *limit)
{
	struct ngx_rl_limit *added = ngx_palloc(cf->pool, sizeof *added), **here, **all;

	if (set->limits == NULL)
		set->limits = ngx_array_create(cf->pool, 1, sizeof(struct ngx_rl_limit *));
	here = set->limits == NULL ? NULL : ngx_array_push(set->limits);
	all = ngx_array_push(&main->limits);
	if (added == NULL || here == NULL || all == NULL)
		return NGX_CONF_ERROR;
	*added = *limit;
	added->set = set;
	ngx_rl_place(cf, &added->file, &added->line);
	*here = *all = added;
	return NGX_CONF_OK;
}

static int
has_rule(const struct ngx_rl_set *set, const struct ngx_rl_rule *rule)
{
	if (set->limits == NULL)
		return 0;
	for (ngx_uint_t i = 0; i < set->limits->nelts; i++)
		if (((struct ngx_rl_limit **)set->limits->elts)[i]->rule == rule)
			return 1;
	return 0;
}

/* burst=N, delay=N, nodelay: as limit_req has them. NGX_DECLINED: another word. */
static ngx_int_t
parse_burst_word(ngx_conf_t *cf, const ngx_str_t *word, struct ngx_rl_limit *limit)
{
	ngx_str_t text;
	uint64_t number = 0;

	if (ngx_rl_option(word, "burst", &text)) {
		limit->has_burst = 1;
		if (ngx_rl_parse_number(&text, RL_CAPACITY_MAX - 1, &number) != NGX_OK ||
		    number == 0) {
			ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid burst value \"%V\"",
			                   word);
			return NGX_ERROR;
		}
		limit->burst = (uint32_t)number;
		return NGX_OK;
	}
	if (ngx_rl_option(word, "delay", &text)) {
		limit->has_undelayed = 1;
		if (ngx_rl_parse_number(&text, RL_CAPACITY_MAX - 1, &number) != NGX_OK ||
		    number == 0) {
			ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid delay value \"%V\"",
			                   word);
			return NGX_ERROR;
		}
		limit->undelayed = (uint32_t)number;
		return NGX_OK;
	}
	if (ngx_strcmp(word->data, "nodelay") != 0)
		return NGX_DECLINED;
	limit->is_nodelay = 1;
	return NGX_OK;
}

/* A delay beyond the burst is as good as none. */
static void
settle_burst(struct ngx_rl_limit *limit)
{
	if (limit->is_nodelay || limit->undelayed > limit->burst)
		limit->undelayed = limit->burst;
}

/* rl_limit_req zone=NAME [burst=N] [delay=N | nodelay] */
char *
ngx_rl_limit_req_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = ngx_rl_main_of(cf, cmd);
	struct ngx_rl_set *set = ngx_rl_set_of(cmd, conf);
	ngx_str_t *words = cf->args->elts, name = ngx_null_string;
	struct ngx_rl_limit limit = {0};

	for (ngx_uint_t i = 1; i < cf->args->nelts; i++) {
		ngx_int_t rc;

		if (ngx_rl_option(&words[i], "zone", &name))
			continue;
		rc = parse_burst_word(cf, &words[i], &limit);
		if (rc != NGX_OK)
			return rc == NGX_DECLINED ? ngx_rl_bad_word(cf, &words[i]) : NGX_CONF_ERROR;
	}
	if (name.len == 0) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" must have \"zone\" parameter",
		                   &words[0]);
		return NGX_CONF_ERROR;
	}
	settle_burst(&limit);
	limit.rule = ngx_rl_rule_get(cf, main, &name);
	if (limit.rule == NULL)
		return NGX_CONF_ERROR;
	if (has_rule(set, limit.rule))
		return "is duplicate";
	limit.rule->used_as = NGX_RL_REQ_ZONE;
	limit.has_burst = limit.has_undelayed = 1;
	if (!limit.rule->has_use || limit.burst > limit.rule->limits[0].burst) {
		limit.rule->has_use = 1;
		limit.rule->limits[0].burst = limit.burst;
		limit.rule->limits[0].undelayed = limit.undelayed;
	}
	return add_limit(cf, main, set, &limit);
}

/* rl_limit_conn NAME NUMBER */
char *
ngx_rl_limit_conn_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = ngx_rl_main_of(cf, cmd);
	struct ngx_rl_set *set = ngx_rl_set_of(cmd, conf);
	ngx_str_t *words = cf->args->elts;
	struct ngx_rl_rule *rule = ngx_rl_rule_get(cf, main, &words[1]);
	struct ngx_rl_limit limit = {.rule = rule};
	uint64_t number;

	if (rule == NULL)
		return NGX_CONF_ERROR;
	if (has_rule(set, rule))
		return "is duplicate";
	if (ngx_rl_parse_number(&words[2], RL_COUNT_MAX, &number) != NGX_OK || number == 0) {
		ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid number of connections \"%V\"",
		                   &words[2]);
		return NGX_CONF_ERROR;
	}
	if (number > 65535)
		return "connection limit must be less 65536";
	limit.number = (uint32_t)number;
	if (!rule->has_use || limit.number > rule->limits[0].capacity)
		rule->limits[0].capacity = limit.number;
	rule->used_as = NGX_RL_CONN_ZONE;
	rule->has_use = 1;
	return add_limit(cf, main, set, &limit);
}

/* A text without a variable is looked at now. */
static ngx_int_t
is_number(ngx_conf_t *cf, const ngx_str_t *word, const ngx_str_t *text, uint64_t most,
          uint64_t *number)
{
	if (ngx_strlchr(text->data, text->data + text->len, '$') != NULL ||
	    ngx_rl_parse_number(text, most, number) == NGX_OK)
		return 1;
	ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
	                   "invalid parameter \"%V\": a number from 0 to %uL is allowed", word,
	                   most);
	return 0;
}

/* NULL: it cannot be; said why. */
static void *
limit_value(ngx_conf_t *cf, struct ngx_rl_main *main, const ngx_str_t *word, ngx_str_t *text,
            uint64_t most, uint64_t *number)
{
	return is_number(cf, word, text, most, number) ? main->compile(cf, text) : NULL;
}

/* A word of rl_limit behind the rule. */
static char *
limit_word(ngx_conf_t *cf, struct ngx_rl_main *main, const ngx_str_t *word,
           struct ngx_rl_limit *limit)
{
	uint64_t number = 0;
	ngx_str_t text;
	ngx_int_t rc;

	if (ngx_rl_option(word, "key", &text)) {
		limit->key_text = text;
		limit->key = main->compile(cf, &text);
		return limit->key == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
	}
	if (ngx_rl_option(word, "cost", &text)) {
		limit->cost = limit_value(cf, main, word, &text, NGX_RL_COST_MAX, &number);
		return limit->cost == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
	}
	if (ngx_rl_option(word, "capacity", &text)) {
		limit->capacity = limit_value(cf, main, word, &text, RL_CAPACITY_MAX, &number);
		limit->number = (uint32_t)number;
		return limit->capacity == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
	}
	if (ngx_rl_option(word, "count_if", &text)) {
		limit->count_if = main->compile(cf, &text);
		return limit->count_if == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
	}
	if (ngx_rl_option(word, "refund_if", &text)) {
		limit->refund_if = main->compile(cf, &text);
		return limit->refund_if == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
	}
	rc = parse_burst_word(cf, word, limit);
	return rc == NGX_OK         ? NGX_CONF_OK
	       : rc == NGX_DECLINED ? ngx_rl_bad_word(cf, word)
	                            : NGX_CONF_ERROR;
}

static int
is_off(const ngx_conf_t *cf)
{
	return ngx_strcmp(((ngx_str_t *)cf->args->elts)[1].data, "off") == 0;
}

/*
 * rl_limit off
 * rl_limit RULE [key=TEXT] [cost=TEXT] [capacity=TEXT] [count_if=TEXT | refund_if=TEXT] [burst=N]
 *	[delay=N | nodelay]
 */
char *
ngx_rl_limit_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = ngx_rl_main_of(cf, cmd);
	struct ngx_rl_set *set = ngx_rl_set_of(cmd, conf);
	ngx_str_t *words = cf->args->elts;
	struct ngx_rl_limit limit = {0};

	if (set->is_off || (is_off(cf) && (set->limits != NULL || cf->args->nelts > 2)))
		return "has \"off\" beside others";
	if (is_off(cf)) {
		set->is_off = 1;
		return NGX_CONF_OK;
	}
	for (ngx_uint_t i = 2; i < cf->args->nelts; i++)
		if (limit_word(cf, main, &words[i], &limit) != NGX_CONF_OK)
			return NGX_CONF_ERROR;
	if (limit.count_if != NULL && limit.refund_if != NULL)
		return "has both count_if and refund_if";
	main->has_answers |= limit.count_if != NULL || limit.refund_if != NULL;
	if (limit.is_nodelay || limit.has_undelayed) {
		if (!limit.has_burst)
			return "has delay or nodelay without a burst";
		limit.has_undelayed = 1;
		settle_burst(&limit);
	}
	limit.rule = ngx_rl_rule_get(cf, main, &words[1]);
	return limit.rule == NULL ? NGX_CONF_ERROR : add_limit(cf, main, set, &limit);
}
