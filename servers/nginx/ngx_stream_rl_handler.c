/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phase before access: ask each set that the server has, in order, until one denies. A session
 * that is delayed, or has no share yet, waits for a timer, and its phase is run again. What the
 * client does meanwhile runs it, too: data changes nothing, and a client that has gone away ends
 * the session.
 */
#include "ngx_stream_rl.h"

/* A session that ends while it is delayed takes its timer along. */
static void
delete_timer(void *data)
{
	struct ngx_stream_rl_state *state = data;

	if (state->timer.timer_set)
		ngx_del_timer(&state->timer);
}

static struct ngx_stream_rl_state *
create_state(ngx_stream_session_t *s)
{
	ngx_pool_cleanup_t *cleanup =
		ngx_pool_cleanup_add(s->connection->pool, sizeof(struct ngx_stream_rl_state));

	if (cleanup == NULL)
		return NULL;
	ngx_memzero(cleanup->data, sizeof(struct ngx_stream_rl_state));
	cleanup->handler = delete_timer;
	ngx_stream_set_ctx(s, cleanup->data, ngx_stream_rl_module);
	return cleanup->data;
}

static void
end_delay(ngx_event_t *event)
{
	ngx_stream_session_t *s = event->data;

	ngx_stream_core_run_phases(s);
}

static ngx_int_t
delay(ngx_stream_session_t *s, struct ngx_stream_rl_state *state, ngx_msec_t ms)
{
	if (ngx_handle_read_event(s->connection->read, 0) != NGX_OK)
		return NGX_STREAM_INTERNAL_SERVER_ERROR;
	state->timer.handler = end_delay;
	state->timer.data = s;
	state->timer.log = s->connection->log;
	ngx_add_timer(&state->timer, ms);
	return NGX_AGAIN;
}

/* A client that has closed before it sent anything. */
static int
is_gone(ngx_connection_t *c)
{
	u_char byte;
	ssize_t n;

	if (c->type != SOCK_STREAM || !c->read->ready)
		return 0;
	n = recv(c->fd, &byte, 1, MSG_PEEK);
	return n == 0 || (n < 0 && ngx_errno != NGX_EAGAIN && ngx_errno != NGX_EINTR);
}

/* NGX_DECLINED: go on; NGX_AGAIN: delayed; a status: rejected. */
static ngx_int_t
ask_set(ngx_stream_session_t *s, struct ngx_stream_rl_conf *conf, enum ngx_rl_set_name name,
        struct ngx_stream_rl_state *state)
{
	struct ngx_rl_request request = {
		.main = ngx_stream_get_module_main_conf(s, ngx_stream_rl_module),
		.request = s,
		.pool = s->connection->pool,
		.log = s->connection->log};
	struct ngx_rl_outcome *outcome = &state->outcomes[name];
	ngx_int_t rc = ngx_rl_decide(&request, &conf->sets[name], outcome);

	if (rc != NGX_OK)
		return rc == NGX_AGAIN ? delay(s, state, outcome->delay)
		                       : NGX_STREAM_INTERNAL_SERVER_ERROR;
	if (outcome->status == NGX_RL_NONE)
		return NGX_DECLINED;
	state->last = outcome;
	if (outcome->status != NGX_RL_PASSED)
		ngx_rl_log_outcome(&request, &conf->sets[name], name, outcome);
	if (outcome->status == NGX_RL_REJECTED)
		return NGX_STREAM_SERVICE_UNAVAILABLE;
	return outcome->delay > 0 ? delay(s, state, outcome->delay) : NGX_DECLINED;
}

ngx_int_t
ngx_stream_rl_handler(ngx_stream_session_t *s)
{
	struct ngx_stream_rl_conf *conf = ngx_stream_get_module_srv_conf(s, ngx_stream_rl_module);
	struct ngx_stream_rl_state *state = ngx_stream_get_module_ctx(s, ngx_stream_rl_module);

	if (state != NULL && state->timer.timer_set)
		return is_gone(s->connection) ? NGX_STREAM_BAD_REQUEST : NGX_AGAIN;
	for (int name = 0; name < NGX_RL_SETS; name++) {
		ngx_int_t rc;

		if (conf->sets[name].limits == NULL)
			continue;
		if (state == NULL && (state = create_state(s)) == NULL)
			return NGX_STREAM_INTERNAL_SERVER_ERROR;
		if (state->outcomes[name].status != NGX_RL_NONE)
			continue;
		rc = ask_set(s, conf, (enum ngx_rl_set_name)name, state);
		if (rc != NGX_DECLINED)
			return rc;
	}
	return NGX_DECLINED;
}

/* Once for a session, when it is over, however it ends. */
ngx_int_t
ngx_stream_rl_log_handler(ngx_stream_session_t *s)
{
	struct ngx_rl_request request = {
		.main = ngx_stream_get_module_main_conf(s, ngx_stream_rl_module),
		.request = s,
		.pool = s->connection->pool,
		.log = s->connection->log};
	struct ngx_stream_rl_state *state = ngx_stream_get_module_ctx(s, ngx_stream_rl_module);

	for (int name = 0; state != NULL && name < NGX_RL_SETS; name++)
		ngx_rl_answer_settle(&request, &state->outcomes[name]);
	return NGX_OK;
}

static ngx_int_t
get_variable(ngx_stream_session_t *s, ngx_stream_variable_value_t *v, uintptr_t data)
{
	const struct ngx_stream_rl_state *state =
		ngx_stream_get_module_ctx(s, ngx_stream_rl_module);

	return ngx_rl_variable_get(v, (enum ngx_rl_variable)data,
	                           state == NULL ? NULL : state->last, s->connection->pool);
}

static ngx_int_t
get_conn_status(ngx_stream_session_t *s, ngx_stream_variable_value_t *v, uintptr_t data)
{
	const struct ngx_stream_rl_state *state =
		ngx_stream_get_module_ctx(s, ngx_stream_rl_module);

	return ngx_rl_variable_get(v, NGX_RL_VAR_STATUS,
	                           state == NULL ? NULL : &state->outcomes[data],
	                           s->connection->pool);
}

static ngx_int_t
get_client(ngx_stream_session_t *s, ngx_stream_variable_value_t *v, uintptr_t data)
{
	ngx_str_t text;

	(void)data;
	if (ngx_rl_client_text(ngx_stream_get_module_main_conf(s, ngx_stream_rl_module),
	                       s->connection, s->connection->pool, &text) != NGX_OK)
		return NGX_ERROR;
	ngx_rl_variable_store(v, text);
	return NGX_OK;
}

static ngx_int_t
add(ngx_conf_t *cf, ngx_str_t name, ngx_stream_get_variable_pt get, uintptr_t data)
{
	ngx_stream_variable_t *variable =
		ngx_stream_add_variable(cf, &name, NGX_STREAM_VAR_NOCACHEABLE);

	if (variable == NULL)
		return NGX_ERROR;
	variable->get_handler = get;
	variable->data = data;
	return NGX_OK;
}

ngx_int_t
ngx_stream_rl_add_variables(ngx_conf_t *cf)
{
	ngx_str_t conn = ngx_string("rl_limit_conn_status"), client = ngx_string("rl_client");

	for (uintptr_t i = 0; i < NGX_RL_VARS; i++)
		if (add(cf, ngx_rl_variable_names[i], get_variable, i) != NGX_OK)
			return NGX_ERROR;
	if (add(cf, client, get_client, 0) != NGX_OK)
		return NGX_ERROR;
	return add(cf, conn, get_conn_status, NGX_RL_CONN);
}
