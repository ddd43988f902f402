/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * $rl_client; $rl_status and its like, of what was decided last; $rl_limit_req_status and
 * $rl_limit_conn_status.
 */
#include "ngx_http_rl.h"

static ngx_int_t
get_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	const struct ngx_http_rl_state *state = ngx_http_rl_state(r);

	return ngx_rl_variable_get(v, (enum ngx_rl_variable)data,
	                           state == NULL ? NULL : state->last, r->pool);
}

static ngx_int_t
get_set_status(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	const struct ngx_http_rl_state *state = ngx_http_rl_state(r);

	return ngx_rl_variable_get(v, NGX_RL_VAR_STATUS,
	                           state == NULL ? NULL : state->outcomes[data], r->pool);
}

static ngx_int_t
get_client(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
	ngx_str_t text;

	(void)data;
	if (ngx_rl_client_text(ngx_http_get_module_main_conf(r, ngx_http_rl_module), r->connection,
	                       r->pool, &text) != NGX_OK)
		return NGX_ERROR;
	ngx_rl_variable_store(v, text);
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
