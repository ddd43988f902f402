/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request takes and is to give back: units in flight at its end, and charges that count_if=
 * and refund_if= do not count.
 */
#include "text.h"
#include "visit.h"

#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(rl);

#define TRIES 1000 /* -EBUSY: others keep changing the key */

struct grip {
	request_rec *top;
	struct store *store;
	size_t count;
	struct rl_hold holds[];
};

/*
 * The pool of a request is destroyed after the last byte of its answer was sent, when its
 * connection is lost, or with its stream. A process that is killed runs nothing: rl sees that by
 * itself.
 */
static apr_status_t
let_go(void *arg)
{
	struct grip *grip = arg;
	int error = grip->count > 0 ? -EBUSY : 0;

	for (int tries = 0; error == -EBUSY && tries < TRIES; tries++)
		error = rl_release(store_segment(grip->store), grip->holds, grip->count);
	if (error < 0)
		ap_log_error(APLOG_MARK, APLOG_ERR, 0, grip->top->server,
		             "rl: units in flight were not given back: %s; they are when this "
		             "process ends",
		             rl_strerror(error));
	store_leave(grip->store);
	return APR_SUCCESS;
}

/* Whether something of it is known with the answer alone. */
static int
is_settled(const struct decided *d)
{
	return d->limit && (d->limit->refund || d->actual);
}

void
hold_until_done(struct visit *visit, struct store *store, struct decided *const *decided,
                size_t count)
{
	struct rl_hold holds[RL_ITEMS_MAX];
	apr_pool_t *pool = visit->top->pool;
	struct grip *grip;
	size_t held = 0;
	int is_kept = 0;

	for (size_t i = 0; i < count; i++) {
		held += rl_holds(&decided[i]->charges, holds + held, RL_ITEMS_MAX - held);
		is_kept |= is_settled(decided[i]);
	}
	if (held == 0 && !is_kept)
		return;
	grip = apr_palloc(pool, sizeof(*grip) + held * sizeof(*holds));
	grip->top = visit->top;
	grip->store = store;
	grip->count = held;
	memcpy(grip->holds, holds, held * sizeof(*holds));
	store_again(store);
	apr_pool_cleanup_register(pool, grip, let_go, apr_pool_cleanup_null);
}

/* Whether the answer counts; it does where that cannot be told. */
static int
counts(const struct decided *d, request_rec *last)
{
	const char *error = NULL, *word = d->limit->counts_if ? "count_if: " : "refund_if: ";
	int is_true;

	if (!d->limit->refund)
		return 1;
	is_true = ap_expr_exec(last, d->limit->refund, &error);
	if (error)
		report_undecided(last, d->rule, d->limit->where, -EINVAL,
		                 apr_pstrcat(last->pool, word, error, NULL));
	return is_true < 0 || (is_true > 0) == d->limit->counts_if;
}

/* What is empty, as a field that the answer has not, or no number, is not known. */
static int
is_known(const struct decided *d, request_rec *last, uint64_t *actual)
{
	const char *error = NULL;
	const char *text = d->actual ? ap_expr_str_exec(last, d->actual, &error) : "";

	if (!error && text && !*text)
		return 0;
	if (!error && text && read_number(text, 0, COST_MAX, actual)) {
		*actual = *actual < RL_CAPACITY_MAX ? *actual : RL_CAPACITY_MAX;
		return 1;
	}
	report_undecided(last, d->rule, d->limit->where, -EINVAL,
	                 error ? error
	                       : "what a request has cost is no number, and it stays charged as it "
	                         "was");
	return 0;
}

static void
settle(struct decided *d, request_rec *last, uint64_t actual)
{
	int error = -EBUSY;

	for (int tries = 0; error == -EBUSY && tries < TRIES; tries++)
		error = rl_settle(store_segment(d->store), &d->charges, actual);
	if (error < 0)
		report_undecided(last, d->rule, d->limit->where, error, NULL);
}

void
settle_all(struct visit *visit, request_rec *last)
{
	for (int i = 0; i < visit->decided->nelts; i++) {
		struct decided *d = APR_ARRAY_IDX(visit->decided, i, struct decided *);
		uint64_t actual = 0;

		if (is_settled(d) && d->charges.count > 0 &&
		    (!counts(d, last) || is_known(d, last, &actual)))
			settle(d, last, actual);
	}
}
