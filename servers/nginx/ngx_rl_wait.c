/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that is denied for want of a share of a cluster's limit asks again by a timer, for as
 * long as the limit says. One that ends meanwhile, as its client has gone, was not charged.
 */
#include "ngx_rl.h"

#define WAITERS_MAX 1000 /* of a worker's requests, or sessions; more are denied at once */

struct ngx_rl_wait {
	ngx_msec_t end;
	unsigned is_on : 1;
	unsigned is_last : 1; /* it asks once more, and that is its answer */
};

static ngx_uint_t waiters;

static void
leave(void *data)
{
	struct ngx_rl_wait *wait = data;

	waiters -= wait->is_on;
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
	waiters++;
	cleanup->handler = leave;
	return wait;
}

unsigned
ngx_rl_wait_flags(const struct ngx_rl_set *set, const struct ngx_rl_outcome *outcome)
{
	int waits = outcome->wait != NULL ? !outcome->wait->is_last : waiters < WAITERS_MAX;

	return waits && !set->dry_run ? RL_ITEM_WAITS : 0;
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
	if (outcome->wait == NULL)
		return;
	leave(outcome->wait);
	outcome->delay = 0;
}
