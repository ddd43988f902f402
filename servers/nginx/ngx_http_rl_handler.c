/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phase before access: ask each set that the location has, in order, until one denies.
 *
 *	ask a set -> passed -> next set -> ... -> go on
 *	          -> delayed: a timer, then this phase again, with the next set
 *	          -> not decided yet, for want of a share: the same, with this set
 *	          -> rejected: the status of the set
 *
 * A set is asked once for a request with all its subrequests and redirects. A client that goes away
 * while it is delayed ends the request, and that gives back what it held. A subrequest in the
 * background, as a mirror's, is not delayed, for the timer is its connection's, which has the next
 * request by then; nor is its client told of it.
 */
#include "ngx_http_rl.h"

static struct ngx_rl_outcome *
outcome_of(ngx_http_request_t *r, struct ngx_http_rl_state *state, int name)
{
	struct ngx_rl_outcome *outcome = state->outcomes[name];

	if (outcome != NULL)
		return outcome;
	outcome = ngx_palloc(r->main->pool, sizeof *outcome);
	if (outcome == NULL)
		return NULL;
	outcome->status = NGX_RL_NONE;
	outcome->wait = NULL;
	state->outcomes[name] = outcome;
	return outcome;
}

static void
end_delay(ngx_http_request_t *r)
{
	ngx_event_t *write = r->connection->write;

	if (write->delayed) { /* the socket is writable, and that is not waited for */
		if (ngx_handle_write_event(write, 0) != NGX_OK)
			ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
		return;
	}
	if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK) {
		ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
		return;
	}
	r->read_event_handler = ngx_http_block_reading;
	r->write_event_handler = ngx_http_core_run_phases;
	ngx_http_core_run_phases(r);
}

/* Meanwhile the connection is read, to see a client that goes away. */
static ngx_int_t
delay(ngx_http_request_t *r, ngx_msec_t ms)
{
	if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	r->read_event_handler = ngx_http_test_reading;
	r->write_event_handler = end_delay;
	r->connection->write->delayed = 1;
	ngx_add_timer(r->connection->write, ms);
	return NGX_AGAIN;
}

static ngx_int_t
status_of(const struct ngx_http_rl_conf *conf, const struct ngx_rl_set *set,
          const struct ngx_rl_outcome *outcome)
{
	if (outcome->error != 0)
		return (ngx_int_t)(conf->error_status != 0 ? conf->error_status : set->status);
	return (ngx_int_t)(outcome->result.verdict == RL_NEVER ? conf->never_status : set->status);
}

/* NGX_DECLINED: go on; NGX_AGAIN: delayed; a status: rejected. */
static ngx_int_t
ask_set(ngx_http_request_t *r, struct ngx_http_rl_conf *conf, enum ngx_rl_set_name name,
        struct ngx_http_rl_state *state, struct ngx_rl_outcome *outcome)
{
	ngx_uint_t wants = r->background ? 0 : conf->wants[name];
	struct ngx_rl_request request = {
		.main = ngx_http_get_module_main_conf(r, ngx_http_rl_module),
		.request = r,
		.pool = r->main->pool,
		.log = r->connection->log,
		.wants_answers = wants,
		.is_background = r->background};
	ngx_int_t rc = ngx_rl_decide(&request, &conf->sets[name], outcome);

	if (rc != NGX_OK)
		return rc == NGX_AGAIN ? delay(r, outcome->delay) : NGX_HTTP_INTERNAL_SERVER_ERROR;
	if (outcome->status == NGX_RL_NONE)
		return NGX_DECLINED;
	state->last = outcome;
	state->last_wants = wants;
	state->wants |= wants;
	if (outcome->status != NGX_RL_PASSED)
		ngx_rl_log_outcome(&request, &conf->sets[name], name, outcome);
	if (outcome->status == NGX_RL_REJECTED)
		return status_of(conf, &conf->sets[name], outcome);
	return outcome->delay > 0 ? delay(r, outcome->delay) : NGX_DECLINED;
}

static ngx_int_t
finish(ngx_http_request_t *r, struct ngx_http_rl_conf *conf, struct ngx_http_rl_state *state,
       ngx_int_t rc)
{
	if (state == NULL || state->last == NULL || state->has_headers)
		return rc;
	state->has_headers = 1;
	if (state->wants != 0 && ngx_http_rl_add_headers(r, state) != NGX_OK)
		return NGX_HTTP_INTERNAL_SERVER_ERROR;
	return conf->problem && state->last->status == NGX_RL_REJECTED
	               ? ngx_http_rl_problem(r, state->last, rc)
	               : rc;
}

/* Once for a request, and its subrequests and redirects, when it is over, however it ends. */
ngx_int_t
ngx_http_rl_log_handler(ngx_http_request_t *r)
{
	struct ngx_rl_request request = {
		.main = ngx_http_get_module_main_conf(r, ngx_http_rl_module),
		.request = r,
		.pool = r->pool,
		.log = r->connection->log};
	struct ngx_http_rl_state *state = r == r->main ? ngx_http_rl_state(r) : NULL;

	for (int name = 0; state != NULL && name < NGX_RL_SETS; name++)
		if (state->outcomes[name] != NULL)
			ngx_rl_answer_settle(&request, state->outcomes[name]);
	return NGX_OK;
}

ngx_int_t
ngx_http_rl_handler(ngx_http_request_t *r)
{
	struct ngx_http_rl_conf *conf = ngx_http_get_module_loc_conf(r, ngx_http_rl_module);
	struct ngx_http_rl_state *state = NULL;
	int tells = conf->tells && !r->background;

	for (int name = conf->first; name < conf->end; name++) {
		struct ngx_rl_outcome *outcome;
		ngx_int_t rc;

		if (conf->sets[name].limits == NULL)
			continue;
		if (state == NULL && (state = ngx_http_rl_state(r)) == NULL &&
		    (state = ngx_http_rl_state_create(r)) == NULL)
			return NGX_HTTP_INTERNAL_SERVER_ERROR;
		outcome = outcome_of(r, state, name);
		if (outcome == NULL)
			return NGX_HTTP_INTERNAL_SERVER_ERROR;
		if (outcome->status != NGX_RL_NONE)
			continue;
		rc = ask_set(r, conf, (enum ngx_rl_set_name)name, state, outcome);
		if (rc != NGX_DECLINED)
			return rc == NGX_AGAIN || !tells ? rc : finish(r, conf, state, rc);
	}
	return tells ? finish(r, conf, state, NGX_DECLINED) : NGX_DECLINED;
}
