/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NGX_STREAM_RL_H
#define NGX_STREAM_RL_H

/* The module for stream: what a server says, and what is known of a session. */
#include "ngx_rl.h"

#include <ngx_stream.h>

#pragma GCC visibility push(hidden)

struct ngx_stream_rl_conf {
	struct ngx_rl_set sets[NGX_RL_SETS]; /* NGX_RL_REQ is never used: stream has no limit_req */
};

struct ngx_stream_rl_state {
	struct ngx_rl_outcome outcomes[NGX_RL_SETS];
	struct ngx_rl_outcome *last; /* decided last; NULL: none yet */
	ngx_event_t timer;           /* of a delay */
};

extern ngx_module_t ngx_stream_rl_module;

ngx_int_t ngx_stream_rl_handler(ngx_stream_session_t *s);
ngx_int_t ngx_stream_rl_log_handler(ngx_stream_session_t *s);
ngx_int_t ngx_stream_rl_add_variables(ngx_conf_t *cf);

#pragma GCC visibility pop

#endif
