/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NGX_HTTP_RL_H
#define NGX_HTTP_RL_H

/* The module for http: what a location says, and what is known of a request. */
#include "ngx_rl.h"

#include <ngx_http.h>

#pragma GCC visibility push(hidden)

/* rl_headers; combine with |. */
#define NGX_HTTP_RL_HEADERS_OFF 0x01
#define NGX_HTTP_RL_HEADERS_IETF 0x02
#define NGX_HTTP_RL_HEADERS_X 0x04
#define NGX_HTTP_RL_HEADERS_X_UNIX 0x08
#define NGX_HTTP_RL_HEADERS_RETRY_AFTER 0x10 /* alone; the others have it, too */
#define NGX_HTTP_RL_HEADERS_SET 8            /* bits above them: enum rl_http_set */

struct ngx_http_rl_conf {
	struct ngx_rl_set sets[NGX_RL_SETS];
	int first, end;     /* of those that have limits */
	ngx_uint_t headers; /* 0: not said: NGX_HTTP_RL_HEADERS_IETF, of rl_limit alone */
	ngx_uint_t wants[NGX_RL_SETS]; /* the fields that tell of each set; 0: none */
	int tells;                     /* an answer has fields, or a body of its own */
	ngx_uint_t error_status;       /* 0: that of the set */
	ngx_uint_t never_status;       /* for a cost that is above the capacity */
	ngx_flag_t problem;            /* a refusal has a body of problem+json */
};

/*
 * A request, its subrequests and redirects: each set is asked once. It lies in a cleanup of the
 * pool, for an internal redirect forgets the context.
 */
struct ngx_http_rl_state {
	ngx_pool_cleanup_t cleanup;
	struct ngx_rl_outcome *outcomes[NGX_RL_SETS]; /* NULL: not asked */
	struct ngx_rl_outcome *last;                  /* decided last; NULL: none yet */
	ngx_uint_t last_wants;                        /* the fields that tell of it */
	ngx_uint_t wants;                             /* and of all that was decided */
	unsigned has_headers : 1;
};

extern ngx_module_t ngx_http_rl_module;

/* handler */
ngx_int_t ngx_http_rl_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_rl_log_handler(ngx_http_request_t *r);

/* state: of a request that has one, or NULL; a new one, or NULL without memory. */
struct ngx_http_rl_state *ngx_http_rl_state(ngx_http_request_t *r);
struct ngx_http_rl_state *ngx_http_rl_state_create(ngx_http_request_t *r);

/*
 * headers: when a location is merged, find out which fields it wants; add those for all that was
 * decided. NGX_OK, or NGX_ERROR without memory.
 */
void ngx_http_rl_settle_headers(struct ngx_http_rl_conf *conf);
ngx_int_t ngx_http_rl_add_headers(ngx_http_request_t *r, const struct ngx_http_rl_state *state);

/* problem: answer with `status` and the body that says why. NGX_DONE, or a status. */
ngx_int_t ngx_http_rl_problem(ngx_http_request_t *r, const struct ngx_rl_outcome *outcome,
                              ngx_int_t status);

/* variables */
ngx_int_t ngx_http_rl_add_variables(ngx_conf_t *cf);

#pragma GCC visibility pop

#endif
