/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request, with its subrequests and redirects, keeps of its sets. */
#include "ngx_http_rl.h"

/* Nothing to do: the state is found by this cleanup of the pool. */
static void
keep_state(void *data)
{
	(void)data;
}

struct ngx_http_rl_state *
ngx_http_rl_state(ngx_http_request_t *r)
{
	struct ngx_http_rl_state *state = ngx_http_get_module_ctx(r->main, ngx_http_rl_module);

	if (state != NULL)
		return state;
	for (ngx_pool_cleanup_t *c = r->main->pool->cleanup; c != NULL; c = c->next) {
		if (c->handler == keep_state) {
			ngx_http_set_ctx(r->main, c->data, ngx_http_rl_module);
			return c->data;
		}
	}
	return NULL;
}

struct ngx_http_rl_state *
ngx_http_rl_state_create(ngx_http_request_t *r)
{
	ngx_pool_t *pool = r->main->pool;
	struct ngx_http_rl_state *state = ngx_palloc(pool, sizeof *state);

	if (state == NULL)
		return NULL;
	state->cleanup = (ngx_pool_cleanup_t){keep_state, state, pool->cleanup};
	pool->cleanup = &state->cleanup;
	ngx_memzero(state->outcomes, sizeof state->outcomes);
	state->last = NULL;
	state->wants = 0;
	state->has_headers = 0;
	ngx_http_set_ctx(r->main, state, ngx_http_rl_module);
	return state;
}
