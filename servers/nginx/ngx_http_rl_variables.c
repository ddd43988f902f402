/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * $rl_client; $rl_status and its like, of what was decided last; $rl_limit_req_status and
 * $rl_limit_conn_status.
 */
#include "ngx_http_rl.h"

static void
store(ngx_http_variable_value_t *v, ngx_str_t text)
{
	v->valid = text.len > 0;
	v->not_found = text.len == 0;
	v->no_cacheable = 0;
	v->data = text.data;
	v->len = (unsigned)text.len;
}

static ngx_int_t
get_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	const struct ngx_http_rl_state *state = ngx_http_rl_state(r);
	ngx_str_t none = ngx_null_string;
	char *room;

	if (state == NULL || state->last == NULL) {
		store(v, none);
		return NGX_OK;
	}
	room = ngx_pnalloc(r->pool, NGX_RL_TEXT_SIZE);
	if (room == NULL)
		return NGX_ERROR;
	store(v, ngx_rl_variable_text((enum ngx_rl_variable)data, state->last, room));
	return NGX_OK;
}

static ngx_int_t
get_set_status(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	const struct ngx_http_rl_state *state = ngx_http_rl_state(r);
	ngx_str_t none = ngx_null_string;

	store(v, state == NULL || state->outcomes[data] == NULL
	                 ? none
	                 : ngx_rl_variable_text(NGX_RL_VAR_STATUS, state->outcomes[data], NULL));
	return NGX_OK;
}

static ngx_int_t
get_client(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	ngx_str_t text;

	(void)data;
	if (ngx_rl_client_text(ngx_http_get_module_main_conf(r, ngx_http_rl_module), r->connection,
	                       r->pool, &text) != NGX_OK)
		return NGX_ERROR;
	store(v, text);
	return NGX_OK;
}

static ngx_int_t
add(ngx_conf_t *cf, ngx_str_t name, ngx_http_get_variable_pt get, uintptr_t data)
{
	ngx_http_variable_t *variable = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);

	if (variable == NULL)
		return NGX_ERROR;
	variable->get_handler = get;
	variable->data = data;
	return NGX_OK;
}

ngx_int_t
ngx_http_rl_add_variables(ngx_conf_t *cf)
{
	ngx_str_t req = ngx_string("rl_limit_req_status"),
		  conn = ngx_string("rl_limit_conn_status"), client = ngx_string("rl_client");

	for (uintptr_t i = 0; i < NGX_RL_VARS; i++)
		if (add(cf, ngx_rl_variable_names[i], get_variable, i) != NGX_OK)
			return NGX_ERROR;
	if (add(cf, client, get_client, 0) != NGX_OK)
		return NGX_ERROR;
	if (add(cf, req, get_set_status, NGX_RL_REQ) != NGX_OK)
		return NGX_ERROR;
	return add(cf, conn, get_set_status, NGX_RL_CONN);
}
