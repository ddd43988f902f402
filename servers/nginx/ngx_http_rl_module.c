/* SPDX-License-Identifier: BSD-2-Clause */
/* The module for http: its directives, and where they are kept. */
#include "ngx_http_rl.h"

static void *
compile_complex(ngx_conf_t *cf, ngx_str_t *text)
{
	ngx_http_complex_value_t *value = ngx_pcalloc(cf->pool, sizeof *value);
	ngx_http_compile_complex_value_t ccv = {.cf = cf, .value = text, .complex_value = value};

	return value != NULL && ngx_http_compile_complex_value(&ccv) == NGX_OK ? value : NULL;
}

static void *
compile(ngx_conf_t *cf, ngx_str_t *text)
{
	struct ngx_rl_value *value = ngx_palloc(cf->pool, sizeof *value);
	ngx_str_t name;

	if (value == NULL)
		return NULL;
	*value = (struct ngx_rl_value){.variable = NGX_ERROR};
	if (ngx_rl_parse_variable(text, &name) == NGX_OK)
		value->variable = ngx_http_get_variable_index(cf, &name);
	else
		value->complex = compile_complex(cf, text);
	return value->variable != NGX_ERROR || value->complex != NULL ? value : NULL;
}

static ngx_int_t
evaluate(void *request, void *value, ngx_str_t *text)
{
	struct ngx_rl_value *of = value;
	ngx_http_variable_value_t *variable;

	if (of->variable == NGX_ERROR)
		return ngx_http_complex_value(request, of->complex, text);
	variable = ngx_http_get_flushed_variable(request, (ngx_uint_t)of->variable);
	*text = (ngx_str_t)ngx_null_string;
	if (variable != NULL && !variable->not_found)
		*text = (ngx_str_t){variable->len, variable->data};
	return NGX_OK;
}

static ngx_int_t
client(const struct ngx_rl_request *request, ngx_str_t *text)
{
	const ngx_http_request_t *r = request->request;

	return ngx_rl_client_text(request->main, r->connection, request->pool, text);
}

static void *
create_main(ngx_conf_t *cf)
{
	struct ngx_rl_main *main = ngx_pcalloc(cf->pool, sizeof *main);

	if (main == NULL || ngx_rl_main_init(cf, main) != NGX_OK)
		return NULL;
	main->compile = compile;
	main->evaluate = evaluate;
	main->client = client;
	return main;
}

static void *
create_loc(ngx_conf_t *cf)
{
	struct ngx_http_rl_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);

	if (conf == NULL)
		return NULL;
	for (int i = 0; i < NGX_RL_SETS; i++)
		ngx_rl_set_init(&conf->sets[i]);
	conf->error_status = NGX_CONF_UNSET_UINT;
	conf->never_status = NGX_CONF_UNSET_UINT;
	conf->problem = NGX_CONF_UNSET;
	return conf;
}

static char *
merge_loc(ngx_conf_t *cf, void *parent, void *child)
{
	static const ngx_uint_t statuses[NGX_RL_SETS] = {NGX_HTTP_SERVICE_UNAVAILABLE,
	                                                 NGX_HTTP_SERVICE_UNAVAILABLE,
	                                                 NGX_HTTP_TOO_MANY_REQUESTS};
	struct ngx_http_rl_conf *outer = parent, *conf = child;

	(void)cf;
	for (int i = 0; i < NGX_RL_SETS; i++) {
		ngx_rl_set_merge(&conf->sets[i], &outer->sets[i], statuses[i]);
		if (conf->sets[i].limits == NULL)
			continue;
		conf->first = conf->end == 0 ? i : conf->first;
		conf->end = i + 1;
	}
	if (conf->headers == 0)
		conf->headers = outer->headers;
	ngx_conf_merge_uint_value(conf->error_status, outer->error_status, 0);
	ngx_conf_merge_uint_value(conf->never_status, outer->never_status, NGX_HTTP_FORBIDDEN);
	ngx_conf_merge_value(conf->problem, outer->problem, 0);
	ngx_http_rl_settle_headers(conf);
	return NGX_CONF_OK;
}

static ngx_array_t *
handlers_of(ngx_conf_t *cf, ngx_http_phases phase)
{
	ngx_http_core_main_conf_t *core =
		ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

	return &core->phases[phase].handlers;
}

/* nginx asks the last one first: realip's, which finds the client of a location, before this. */
static ngx_int_t
add_limits(ngx_array_t *handlers)
{
	ngx_http_handler_pt *first;

	if (ngx_array_push(handlers) == NULL)
		return NGX_ERROR;
	first = handlers->elts;
	ngx_memmove(first + 1, first, (handlers->nelts - 1) * sizeof *first);
	*first = ngx_http_rl_handler;
	return NGX_OK;
}

static ngx_int_t
add_answers(ngx_array_t *handlers)
{
	ngx_http_handler_pt *place = ngx_array_push(handlers);

	if (place == NULL)
		return NGX_ERROR;
	*place = ngx_http_rl_log_handler;
	return NGX_OK;
}

static ngx_int_t
complete(ngx_conf_t *cf)
{
	struct ngx_rl_main *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);

	if (ngx_rl_rules_check(cf, main) != NGX_OK ||
	    add_limits(handlers_of(cf, NGX_HTTP_PREACCESS_PHASE)) != NGX_OK)
		return NGX_ERROR;
	return main->has_answers ? add_answers(handlers_of(cf, NGX_HTTP_LOG_PHASE)) : NGX_OK;
}

/* In the master, once the configuration is in force. */
static ngx_int_t
start(ngx_cycle_t *cycle)
{
	struct ngx_rl_main *main = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_rl_module);

	return main == NULL ? NGX_OK : ngx_rl_start(cycle, main);
}

static struct ngx_rl_main *
main_of(ngx_conf_t *cf)
{
	return ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);
}

static struct ngx_rl_block block = {main_of};

static char *
set_headers(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	static const struct {
		const char *name;
		ngx_uint_t headers;
	} words[] = {
		{"off", NGX_HTTP_RL_HEADERS_OFF},
		{"x", NGX_HTTP_RL_HEADERS_X},
		{"x-unix", NGX_HTTP_RL_HEADERS_X_UNIX},
		{"retry-after", NGX_HTTP_RL_HEADERS_RETRY_AFTER},
	};
	ngx_str_t *args = cf->args->elts;
	ngx_uint_t *headers = &((struct ngx_http_rl_conf *)conf)->headers;

	(void)cmd;
	if (*headers != 0)
		return "is duplicate";
	for (ngx_uint_t i = 1; i < cf->args->nelts; i++) {
		int set = rl_http_set((const char *)args[i].data);
		ngx_uint_t added = 0;

		if (set >= 0 && *headers & NGX_HTTP_RL_HEADERS_IETF)
			return "has two forms of the same fields";
		if (set >= 0)
			added = NGX_HTTP_RL_HEADERS_IETF | (ngx_uint_t)set
			                                           << NGX_HTTP_RL_HEADERS_SET;

		for (size_t w = 0; w < sizeof words / sizeof *words; w++)
			if (ngx_strcmp(args[i].data, words[w].name) == 0)
				added = words[w].headers;
		if (added == 0) {
			ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"",
			                   &args[i]);
			return NGX_CONF_ERROR;
		}
		*headers |= added;
	}
	if (*headers & NGX_HTTP_RL_HEADERS_OFF && *headers != NGX_HTTP_RL_HEADERS_OFF)
		return "has \"off\" beside others";
	return NGX_CONF_OK;
}

/* rl_on_error allow | deny [STATUS], for all sets. */
static char *
set_on_error(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_http_rl_conf *c = conf;
	ngx_str_t *args = cf->args->elts;
	int denies = ngx_strcmp(args[1].data, "deny") == 0;
	uint64_t status = 0;

	(void)cmd;
	if (c->sets[0].on_error != NGX_CONF_UNSET_UINT)
		return "is duplicate";
	if (!denies && (ngx_strcmp(args[1].data, "allow") != 0 || cf->args->nelts > 2))
		return "must be \"allow\", \"deny\", or \"deny\" and a status";
	if (cf->args->nelts > 2 &&
	    (ngx_rl_parse_number(&args[2], 599, &status) != NGX_OK || status < 400))
		return "has a status that is not between 400 and 599";
	for (int i = 0; i < NGX_RL_SETS; i++)
		c->sets[i].on_error = denies ? NGX_RL_ON_ERROR_DENY : NGX_RL_ON_ERROR_ALLOW;
	c->error_status = (ngx_uint_t)status;
	return NGX_CONF_OK;
}

static ngx_conf_num_bounds_t status_bounds = {ngx_conf_check_num_bounds, 400, 599};

#define ANYWHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)
#define MAIN_COMMAND(name, args, set)                                                             \
	{                                                                                         \
		ngx_string(name), NGX_HTTP_MAIN_CONF | (args), set, NGX_HTTP_MAIN_CONF_OFFSET, 0, \
			NULL                                                                      \
	}
#define LOC_COMMAND(name, args, set, offset, post)                                               \
	{                                                                                        \
		ngx_string(name), ANYWHERE | (args), set, NGX_HTTP_LOC_CONF_OFFSET, offset, post \
	}
/* What each set has, by the names of its directives. */
#define SET_COMMANDS(prefix, name)                                                         \
	LOC_COMMAND(prefix "status", NGX_CONF_TAKE1, ngx_conf_set_num_slot,                \
	            offsetof(struct ngx_http_rl_conf, sets[name].status), &status_bounds), \
		LOC_COMMAND(prefix "log_level", NGX_CONF_TAKE1, ngx_conf_set_enum_slot,    \
	                    offsetof(struct ngx_http_rl_conf, sets[name].log_level),       \
	                    ngx_rl_log_levels),                                            \
		LOC_COMMAND(prefix "dry_run", NGX_CONF_FLAG, ngx_conf_set_flag_slot,       \
	                    offsetof(struct ngx_http_rl_conf, sets[name].dry_run), NULL)

static ngx_command_t commands[] = {
	MAIN_COMMAND("rl_segment", NGX_CONF_1MORE, ngx_rl_segment_directive),
	MAIN_COMMAND("rl_client_v6", NGX_CONF_TAKE1, ngx_rl_client_v6_directive),
	MAIN_COMMAND("rl_rule", NGX_CONF_2MORE, ngx_rl_rule_directive),
	MAIN_COMMAND("rl_limit_req_zone", NGX_CONF_2MORE, ngx_rl_req_zone_directive),
	MAIN_COMMAND("rl_limit_conn_zone", NGX_CONF_TAKE2, ngx_rl_conn_zone_directive),
	LOC_COMMAND("rl_limit", NGX_CONF_1MORE, ngx_rl_limit_directive,
                    offsetof(struct ngx_http_rl_conf, sets[NGX_RL_OWN]), &block),
	LOC_COMMAND("rl_settle", NGX_CONF_TAKE2, ngx_rl_settle_directive,
                    offsetof(struct ngx_http_rl_conf, sets[NGX_RL_OWN]), &block),
	LOC_COMMAND("rl_limit_req", NGX_CONF_TAKE123, ngx_rl_limit_req_directive,
                    offsetof(struct ngx_http_rl_conf, sets[NGX_RL_REQ]), &block),
	LOC_COMMAND("rl_limit_conn", NGX_CONF_TAKE2, ngx_rl_limit_conn_directive,
                    offsetof(struct ngx_http_rl_conf, sets[NGX_RL_CONN]), &block),
	SET_COMMANDS("rl_", NGX_RL_OWN),
	SET_COMMANDS("rl_limit_req_", NGX_RL_REQ),
	SET_COMMANDS("rl_limit_conn_", NGX_RL_CONN),
	LOC_COMMAND("rl_never_status", NGX_CONF_TAKE1, ngx_conf_set_num_slot,
                    offsetof(struct ngx_http_rl_conf, never_status), &status_bounds),
	LOC_COMMAND("rl_problem", NGX_CONF_FLAG, ngx_conf_set_flag_slot,
                    offsetof(struct ngx_http_rl_conf, problem), NULL),
	LOC_COMMAND("rl_headers", NGX_CONF_1MORE, set_headers, 0, NULL),
	LOC_COMMAND("rl_on_error", NGX_CONF_TAKE12, set_on_error, 0, NULL),
	ngx_null_command,
};

static ngx_http_module_t context = {
	.preconfiguration = ngx_http_rl_add_variables,
	.postconfiguration = complete,
	.create_main_conf = create_main,
	.create_loc_conf = create_loc,
	.merge_loc_conf = merge_loc,
};

ngx_module_t ngx_http_rl_module = {
	NGX_MODULE_V1,           .ctx = &context,      .commands = commands,
	.type = NGX_HTTP_MODULE, .init_module = start,
};
