/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known with the answer. A request is charged before it is served. When it is logged, what
 * its limits count_if= and refund_if= do not count of it is given back, and what rl_settle says it
 * has cost takes the place of its charge. So of many at once no more pass than the limit has, and
 * a worker that is killed leaves what was charged.
 */
#include "ngx_rl.h"

#define SETTLE_TRIES 1000 /* -EBUSY: others keep changing the key */

struct kept {
	const struct ngx_rl_limit *limit;
	void *actual; /* of rl_settle; NULL: it costs what it was charged */
	struct rl_charges charges;
};

struct ngx_rl_kept {
	struct rl *rl;
	size_t count;
	struct kept items[];
};

/* rl_settle RULE cost=TEXT */
char *
ngx_rl_settle_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
	struct ngx_rl_main *main = ngx_rl_main_of(cf, cmd);
	struct ngx_rl_set *set = ngx_rl_set_of(cmd, conf);
	ngx_str_t *words = cf->args->elts, text;
	struct ngx_rl_rule *rule = ngx_rl_rule_get(cf, main, &words[1]);
	struct ngx_rl_settle *settle;

	if (!ngx_rl_option(&words[2], "cost", &text))
		return ngx_rl_bad_word(cf, &words[2]);
	if (set->settles == NULL)
		set->settles = ngx_array_create(cf->pool, 2, sizeof *settle);
	settle = set->settles == NULL || rule == NULL ? NULL : ngx_array_push(set->settles);
	if (settle == NULL)
		return NGX_CONF_ERROR;
	*settle = (struct ngx_rl_settle){rule, main->compile(cf, &text)};
	main->has_answers = 1;
	return settle->cost == NULL ? NGX_CONF_ERROR : NGX_CONF_OK;
}

static void *
actual_of(const struct ngx_rl_set *set, const struct ngx_rl_limit *limit)
{
	struct ngx_rl_settle *settles = set->settles == NULL ? NULL : set->settles->elts;

	for (ngx_uint_t i = 0; settles != NULL && i < set->settles->nelts; i++)
		if (settles[i].rule == limit->rule)
			return settles[i].cost;
	return NULL;
}

int
ngx_rl_answer_is_asked(const struct ngx_rl_set *set, const struct ngx_rl_limit *limit)
{
	return limit->count_if != NULL || limit->refund_if != NULL ||
	       (set->settles != NULL && actual_of(set, limit) != NULL);
}

int
ngx_rl_answer_has_any(const struct ngx_rl_set *set)
{
	struct ngx_rl_limit **limits = set->limits == NULL ? NULL : set->limits->elts;

	for (ngx_uint_t i = 0; limits != NULL && i < set->limits->nelts; i++)
		if (ngx_rl_answer_is_asked(set, limits[i]))
			return 1;
	return 0;
}

static size_t
count_kept(const struct ngx_rl_set *set, struct ngx_rl_limit *const *limits,
           const struct rl_charges *charges, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		kept += charges[i].count > 0 && ngx_rl_answer_is_asked(set, limits[i]);
	return kept;
}

ngx_int_t
ngx_rl_answer_keep(ngx_pool_t *pool, struct rl *rl, const struct ngx_rl_set *set,
                   struct ngx_rl_limit *const *limits, const struct rl_charges *charges,
                   size_t count, struct ngx_rl_kept **to)
{
	size_t size = count_kept(set, limits, charges, count);
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
		if (charges[i].count > 0 && ngx_rl_answer_is_asked(set, limits[i]))
			kept->items[kept->count++] =
				(struct kept){limits[i], actual_of(set, limits[i]), charges[i]};
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

static int
counts(struct ngx_rl_request *request, const struct ngx_rl_limit *limit)
{
	return is_true(request, limit->count_if, 1) && !is_true(request, limit->refund_if, 0);
}

/* What is empty, as a header field that the answer has not, or no number, is not known. */
static int
is_known(struct ngx_rl_request *request, const struct kept *kept, uint64_t *actual)
{
	const struct ngx_rl_rule *rule = kept->limit->rule;
	ngx_str_t text;

	if (kept->actual == NULL ||
	    request->main->evaluate(request->request, kept->actual, &text) != NGX_OK ||
	    text.len == 0)
		return 0;
	if (ngx_rl_parse_number(&text, NGX_RL_COST_MAX, actual) != NGX_OK) {
		if (ngx_rl_report_is_new(request->main, NGX_RL_REPORT_RULE(rule), -EINVAL))
			ngx_log_error(
				NGX_LOG_ERR, request->log, 0,
				"rl: rule \"%V\": what a request has cost is no number, and it "
				"stays charged as it was",
				&rule->name);
		return 0;
	}
	*actual = ngx_min(*actual, RL_CAPACITY_MAX);
	return 1;
}

static void
settle(struct ngx_rl_request *request, struct rl *rl, struct kept *kept, uint64_t actual)
{
	int error = -EBUSY;

	for (int tries = 0; error == -EBUSY && tries < SETTLE_TRIES; tries++)
		error = rl_settle(rl, &kept->charges, actual);
	if (error < 0)
		ngx_log_error(NGX_LOG_ERR, request->log, 0,
		              "rl: rule \"%V\": what a request has cost is not counted: %s: %s",
		              &kept->limit->rule->name, rl_strerror(error), rl_error_remedy(error));
}

void
ngx_rl_answer_settle(struct ngx_rl_request *request, struct ngx_rl_outcome *outcome)
{
	struct ngx_rl_kept *all = outcome->status == NGX_RL_NONE ? NULL : outcome->kept;

	outcome->kept = NULL;
	for (size_t i = 0; all != NULL && i < all->count; i++) {
		struct kept *kept = &all->items[i];
		uint64_t actual = 0;

		if (!counts(request, kept->limit) || is_known(request, kept, &actual))
			settle(request, all->rl, kept, actual);
	}
}
