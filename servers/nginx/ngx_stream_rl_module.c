/* SPDX-License-Identifier: BSD-2-Clause */
/* The module for stream: its directives, and where they are kept. */
#include "ngx_stream_rl.h"

static void *
compile_complex(ngx_conf_t *cf, ngx_str_t *text)
{
	ngx_stream_complex_value_t *value = ngx_pcalloc(cf->pool, sizeof *value);
	ngx_stream_compile_complex_value_t ccv = {.cf = cf, .value = text, .complex_value = value};

	return value != NULL && ngx_stream_compile_complex_value(&ccv) == NGX_OK ? value : NULL;
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
		value->variable = ngx_stream_get_variable_index(cf, &name);
	else
		value->complex = compile_complex(cf, text);
	return value->variable != NGX_ERROR || value->complex != NULL ? value : NULL;
}

static ngx_int_t
evaluate(void *session, void *value, ngx_str_t *text)
{
	struct ngx_rl_value *of = value;
	ngx_stream_variable_value_t *variable;

	if (of->variable == NGX_ERROR)
		return ngx_stream_complex_value(session, of->complex, text);
	variable = ngx_stream_get_flushed_variable(session, (ngx_uint_t)of->variable);
	*text = (ngx_str_t)ngx_null_string;
	if (variable != NULL && !variable->not_found)
		*text = (ngx_str_t){variable->len, variable->data};
	return NGX_OK;
}

static ngx_int_t
client(const struct ngx_rl_request *request, ngx_str_t *text)
{
	const ngx_stream_session_t *s = request->request;

	return ngx_rl_client_text(request->main, s->connection, request->pool, text);
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
create_srv(ngx_conf_t *cf)
{
	struct ngx_stream_rl_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);

	for (int i = 0; conf != NULL && i < NGX_RL_SETS; i++)
		ngx_rl_set_init(&conf->sets[i]);
	return conf;
}

static char *
merge_srv(ngx_conf_t *cf, void *parent, void *child)
{
	struct ngx_stream_rl_conf *outer = parent, *conf = child;

	(void)cf;
	for (int i = 0; i < NGX_RL_SETS; i++)
		ngx_rl_set_merge(&conf->sets[i], &outer->sets[i], NGX_STREAM_SERVICE_UNAVAILABLE);
	return NGX_CONF_OK;
}

static ngx_int_t
add_handler(ngx_conf_t *cf, ngx_stream_phases phase, ngx_stream_handler_pt handler)
{
	ngx_stream_core_main_conf_t *core =
		ngx_stream_conf_get_module_main_conf(cf, ngx_stream_core_module);
	ngx_stream_handler_pt *place = ngx_array_push(&core->phases[phase].handlers);

	if (place == NULL)
		return NGX_ERROR;
	*place = handler;
	return NGX_OK;
}

static ngx_int_t
complete(ngx_conf_t *cf)
{
	struct ngx_rl_main *main = ngx_stream_conf_get_module_main_conf(cf, ngx_stream_rl_module);

	if (ngx_rl_rules_check(cf, main) != NGX_OK ||
	    add_handler(cf, NGX_STREAM_PREACCESS_PHASE, ngx_stream_rl_handler) != NGX_OK)
		return NGX_ERROR;
	return main->has_answers ? add_handler(cf, NGX_STREAM_LOG_PHASE, ngx_stream_rl_log_handler)
	                         : NGX_OK;
}

/* In the master, once the configuration is in force. */
static ngx_int_t
start(ngx_cycle_t *cycle)
{
	struct ngx_rl_main *main =
		ngx_stream_cycle_get_module_main_conf(cycle, ngx_stream_rl_module);

	return main == NULL ? NGX_OK : ngx_rl_start(cycle, main);
}

static struct ngx_rl_main *
main_of(ngx_conf_t *cf)
{
	return ngx_stream_conf_get_module_main_conf(cf, ngx_stream_rl_module);
}

static struct ngx_rl_block block = {main_of};

/* rl_on_error allow | deny, for all sets. */
static char *
set_on_error(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_stream_rl_conf *c = conf;
	ngx_str_t *args = cf->args->elts;
	int denies = ngx_strcmp(args[1].data, "deny") == 0;

	(void)cmd;
	if (c->sets[0].on_error != NGX_CONF_UNSET_UINT)
		return "is duplicate";
	if (!denies && ngx_strcmp(args[1].data, "allow") != 0)
		return "must be \"allow\" or \"deny\"";
	for (int i = 0; i < NGX_RL_SETS; i++)
		c->sets[i].on_error = denies ? NGX_RL_ON_ERROR_DENY : NGX_RL_ON_ERROR_ALLOW;
	return NGX_CONF_OK;
}

#define MAIN_COMMAND(name, args, set)                                                              \
	{                                                                                          \
		ngx_string(name), NGX_STREAM_MAIN_CONF | (args), set, NGX_STREAM_MAIN_CONF_OFFSET, \
			0, NULL                                                                    \
	}
#define SRV_COMMAND(name, args, set, offset, post)                                          \
	{                                                                                   \
		ngx_string(name), NGX_STREAM_MAIN_CONF | NGX_STREAM_SRV_CONF | (args), set, \
			NGX_STREAM_SRV_CONF_OFFSET, offset, post                            \
	}
#define SET_COMMANDS(prefix, name)                                                                 \
	SRV_COMMAND(prefix "log_level", NGX_CONF_TAKE1, ngx_conf_set_enum_slot,                    \
	            offsetof(struct ngx_stream_rl_conf, sets[name].log_level), ngx_rl_log_levels), \
		SRV_COMMAND(prefix "dry_run", NGX_CONF_FLAG, ngx_conf_set_flag_slot,               \
	                    offsetof(struct ngx_stream_rl_conf, sets[name].dry_run), NULL)

static ngx_command_t commands[] = {
	MAIN_COMMAND("rl_segment", NGX_CONF_1MORE, ngx_rl_segment_directive),
	MAIN_COMMAND("rl_client_v6", NGX_CONF_TAKE1, ngx_rl_client_v6_directive),
	MAIN_COMMAND("rl_rule", NGX_CONF_2MORE, ngx_rl_rule_directive),
	MAIN_COMMAND("rl_limit_conn_zone", NGX_CONF_TAKE2, ngx_rl_conn_zone_directive),
	SRV_COMMAND("rl_limit", NGX_CONF_1MORE, ngx_rl_limit_directive,
                    offsetof(struct ngx_stream_rl_conf, sets[NGX_RL_OWN]), &block),
	SRV_COMMAND("rl_settle", NGX_CONF_TAKE2, ngx_rl_settle_directive,
                    offsetof(struct ngx_stream_rl_conf, sets[NGX_RL_OWN]), &block),
	SRV_COMMAND("rl_limit_conn", NGX_CONF_TAKE2, ngx_rl_limit_conn_directive,
                    offsetof(struct ngx_stream_rl_conf, sets[NGX_RL_CONN]), &block),
	SET_COMMANDS("rl_", NGX_RL_OWN),
	SET_COMMANDS("rl_limit_conn_", NGX_RL_CONN),
	SRV_COMMAND("rl_on_error", NGX_CONF_TAKE1, set_on_error, 0, NULL),
	ngx_null_command,
};

static ngx_stream_module_t context = {
	.preconfiguration = ngx_stream_rl_add_variables,
	.postconfiguration = complete,
	.create_main_conf = create_main,
	.create_srv_conf = create_srv,
	.merge_srv_conf = merge_srv,
};

ngx_module_t ngx_stream_rl_module = {
	NGX_MODULE_V1,        .ctx = &context, .commands = commands, .type = NGX_STREAM_MODULE,
	.init_module = start,
};
