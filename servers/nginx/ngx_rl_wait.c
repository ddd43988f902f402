/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that is denied for want of a share of a cluster's limit asks again by a timer, for as
 * long as the limit says. One that ends meanwhile, as its client has gone, was not charged.
 */
#include "ngx_rl.h"

ngx_uint_t ngx_rl_waiters;

static void
leave(void *data)
{
	struct ngx_rl_wait *wait = data;

	ngx_rl_waiters -= wait->is_on;
	wait->is_on = 0;
}

static struct ngx_rl_wait *
enter(ngx_pool_t *pool, const struct rl_result *result)
{
	ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(pool, sizeof(struct ngx_rl_wait));
	struct ngx_rl_wait *wait;

	if (cleanup == NULL)
		return NULL;
	wait = cleanup->data;
	wait->end = ngx_current_msec + (ngx_msec_t)(result->delay_ns / RL_MILLISECOND);
	wait->is_on = 1;
	wait->is_last = 0;
	ngx_rl_waiters++;
	cleanup->handler = leave;
	return wait;
}

ngx_int_t
ngx_rl_wait(ngx_pool_t *pool, const struct rl_result *result, struct ngx_rl_outcome *outcome)
{
	ngx_msec_int_t left, pause = (ngx_msec_int_t)(result->retry_after_ns / RL_MILLISECOND);

	if (result->reason != RL_BY_SHARE || result->delay_ns == 0)
		return NGX_DECLINED;
	if (outcome->wait == NULL && (outcome->wait = enter(pool, result)) == NULL)
		return NGX_ERROR;
	left = (ngx_msec_int_t)(outcome->wait->end - ngx_current_msec);
	outcome->wait->is_last = left <= pause;
	outcome->delay = (ngx_msec_t)ngx_max(ngx_min(left, pause), 0);
	return NGX_AGAIN;
}

void
ngx_rl_wait_end(struct ngx_rl_outcome *outcome)
{
	leave(outcome->wait);
	outcome->delay = 0;
}
