/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Count by the answer: a request is charged before it is served, and what its limits count_if= and
 * refund_if= do not count of it is given back when it is logged. So of many at once no more pass
 * than the limit has, and a worker that is killed leaves what was charged.
 */
#include "ngx_rl.h"

#define REFUND_TRIES 1000 /* -EBUSY: others keep changing the key */

struct kept {
	const struct ngx_rl_limit *limit;
	struct rl_charges charges;
};

struct ngx_rl_kept {
	struct rl *rl;
	size_t count;
	struct kept items[];
};

int
ngx_rl_answer_is_asked(const struct ngx_rl_limit *limit)
{
	return limit->count_if != NULL || limit->refund_if != NULL;
}

static size_t
count_kept(struct ngx_rl_limit *const *limits, const struct rl_charges *charges, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		kept += ngx_rl_answer_is_asked(limits[i]) && charges[i].count > 0;
	return kept;
}

ngx_int_t
ngx_rl_answer_keep(ngx_pool_t *pool, struct rl *rl, struct ngx_rl_limit *const *limits,
                   const struct rl_charges *charges, size_t count, struct ngx_rl_kept **to)
{
	size_t size = count_kept(limits, charges, count);
	struct ngx_rl_kept *kept;

	*to = NULL;
	if (size == 0)
		return NGX_OK;
	kept = ngx_palloc(pool, sizeof *kept + size * sizeof *kept->items);
	if (kept == NULL)
		return NGX_ERROR;
	kept->rl = rl;
	kept->count = 0;
	for (size_t i = 0; i < count; i++)
		if (ngx_rl_answer_is_asked(limits[i]) && charges[i].count > 0)
			kept->items[kept->count++] = (struct kept){limits[i], charges[i]};
	*to = kept;
	return NGX_OK;
}

/* As nginx has it in its own if=; a text that cannot be made is `otherwise`. */
static int
is_true(struct ngx_rl_request *request, void *value, int otherwise)
{
	ngx_str_t text;

	if (value == NULL || request->main->evaluate(request->request, value, &text) != NGX_OK)
		return otherwise;
	return text.len > 1 || (text.len == 1 && *text.data != '0');
}

static void
refund(struct ngx_rl_request *request, struct rl *rl, struct kept *kept)
{
	int error = -EBUSY;

	for (int tries = 0; error == -EBUSY && tries < REFUND_TRIES; tries++)
		error = rl_refund(rl, &kept->charges);
	if (error < 0)
		ngx_log_error(NGX_LOG_ERR, request->log, 0,
		              "rl: rule \"%V\": a request that does not count stays charged: %s: "
		              "%s",
		              &kept->limit->rule->name, rl_strerror(error), rl_error_remedy(error));
}

void
ngx_rl_answer_settle(struct ngx_rl_request *request, struct ngx_rl_outcome *outcome)
{
	struct ngx_rl_kept *kept = outcome->kept;

	outcome->kept = NULL;
	for (size_t i = 0; kept != NULL && i < kept->count; i++) {
		const struct ngx_rl_limit *limit = kept->items[i].limit;

		if (!is_true(request, limit->count_if, 1) || is_true(request, limit->refund_if, 0))
			refund(request, kept->rl, &kept->items[i]);
	}
}
