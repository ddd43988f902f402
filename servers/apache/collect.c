/* SPDX-License-Identifier: BSD-2-Clause */
#include "round.h"
#include "text.h"

#include <apr_strings.h>

void
fail(struct round *round, const struct rule *rule, const char *where, int error, const char *text)
{
	round->is_failed = 1;
	round->visit->reason = text ? text : rl_strerror(error);
	report_undecided(round->r, rule, where, error, text);
}

/* The text of an expression, or NULL after fail(). */
static const char *
eval(struct round *round, const struct limit *limit, const ap_expr_info_t *expr)
{
	const char *error = NULL, *text = ap_expr_str_exec(round->r, expr, &error);

	if (!error && text)
		return text;
	fail(round, limit->rule, limit->where, -EINVAL, error ? error : "an expression failed");
	return NULL;
}

/* A number from an expression. 1, or 0 after fail(). Without an expression, or a text, it stays. */
static int
eval_number(struct round *round, const struct limit *limit, const ap_expr_info_t *expr,
            const char *what, uint64_t least, uint64_t most, uint64_t *value)
{
	const char *text = expr ? eval(round, limit, expr) : "";

	if (!text)
		return 0;
	if (*text == '\0' || read_number(text, least, most, value))
		return 1;
	fail(round, limit->rule, limit->where, -EINVAL,
	     apr_psprintf(round->r->pool,
	                  "%s \"%.40s\" is no whole number from %" APR_UINT64_T_FMT
	                  " to %" APR_UINT64_T_FMT,
	                  what, text, (apr_uint64_t)least, (apr_uint64_t)most));
	return 0;
}

/* The key, copied for as long as the visit; NULL if the limit does not apply or has failed. */
static const char *
key_of(struct round *round, const struct limit *limit, size_t *len)
{
	apr_pool_t *pool = round->visit->top->pool;
	const char *text = limit->key ? eval(round, limit, limit->key) : client_of(round->r);

	if (!text)
		return NULL;
	*len = strlen(text);
	if (*len > RL_KEY_MAX) {
		char *digest = apr_palloc(pool, RL_KEY_DIGEST_SIZE);

		*len = rl_key_digest(text, *len, digest);
		return digest;
	}
	if (*len > 0)
		return apr_pstrmemdup(pool, text, *len);
	if (limit->empty == EMPTY_ERROR)
		fail(round, limit->rule, limit->where, RL_EEMPTY, NULL);
	else if (limit->empty == EMPTY_DENY)
		round->refuses = limit->rule;
	return NULL;
}

static int
applies(struct round *round, const struct limit *limit)
{
	const char *error = NULL;
	int is_true = limit->condition ? ap_expr_exec(round->r, limit->condition, &error) : 1;

	if (is_true >= 0 && !error)
		return is_true;
	fail(round, limit->rule, limit->where, -EINVAL, error ? error : "if= failed");
	return 0;
}

/* What RLSettle says here of the rule. */
static const ap_expr_info_t *
actual_of(const struct section *section, const struct rule *rule)
{
	for (int i = section->settles ? section->settles->nelts - 1 : -1; i >= 0; i--) {
		const struct settle *settle =
			APR_ARRAY_IDX(section->settles, i, const struct settle *);

		if (settle->rule == rule)
			return settle->cost;
	}
	return NULL;
}

/* Put the item to those that are asked; its charges go to the visit. */
static void
push(struct round *round, const struct rule *rule, const struct limit *limit, struct rl_item item)
{
	struct decided *d = apr_pcalloc(round->visit->top->pool, sizeof(*d));

	d->rule = rule;
	d->limit = limit;
	d->key = item.key;
	d->key_len = item.key_len;
	d->store = round->store;
	d->actual = limit ? actual_of(round->section, rule) : NULL;
	item.charges = &d->charges;
	round->asked[round->count] = d;
	round->items[round->count++] = item;
}

/* Whether the rule is asked for the key already, for this visit. */
static int
is_asked(const struct round *round, const struct rule *rule, const struct rl_item *item)
{
	for (size_t i = 0; i < round->count; i++) {
		const struct decided *d = round->asked[i];

		if (d->limit && d->rule == rule && d->key_len == item->key_len &&
		    memcmp(d->key, item->key, item->key_len) == 0)
			return 1;
	}
	return visit_has(round->visit, rule, item->key, item->key_len);
}

static void
push_or_fail(struct round *round, const struct limit *limit, struct rl_item item)
{
	if (item.rule < 0)
		fail(round, limit->rule, limit->where, item.rule, NULL);
	else if (round->count == RL_ITEMS_MAX)
		fail(round, limit->rule, limit->where, RL_EITEMS, NULL);
	else
		push(round, limit->rule, limit, item);
}

static void
collect_limit(struct round *round, const struct limit *limit)
{
	struct rl_item item = {.cost = 1,
	                       .burst = limit->burst,
	                       .undelayed = limit->undelayed,
	                       .flags = limit->flags | RL_ITEM_SLEEPS};
	uint64_t capacity = 0;

	if (!applies(round, limit))
		return;
	item.key = key_of(round, limit, &item.key_len);
	if (!item.key || is_asked(round, limit->rule, &item))
		return;
	if (!eval_number(round, limit, limit->cost, "cost", 0, COST_MAX, &item.cost) ||
	    !eval_number(round, limit, limit->capacity, "capacity", 1, RL_CAPACITY_MAX, &capacity))
		return;
	item.capacity = (uint32_t)capacity;
	item.rule = store_rule(round->store, limit->rule);
	push_or_fail(round, limit, item);
}

const char *
block_key(struct round *round, const struct block *block)
{
	const char *error = NULL;
	const char *text =
		block->key ? ap_expr_str_exec(round->r, block->key, &error) : client_of(round->r);

	if (text && *text && !error && strlen(text) <= RL_KEY_MAX)
		return apr_pstrdup(round->visit->top->pool, text);
	fail(round, block->rule, block->where,
	     error           ? -EINVAL
	     : text && *text ? -ENAMETOOLONG
	                     : RL_EEMPTY,
	     error);
	return NULL;
}

/* Whether the client is blocked is asked with a cost of 0. */
static void
collect_block(struct round *round, const struct block *block)
{
	struct rl_item item = {.key = block_key(round, block),
	                       .rule = store_rule(round->store, block->rule)};

	if (!item.key)
		return;
	item.key_len = strlen(item.key);
	if (item.rule < 0)
		fail(round, block->rule, block->where, item.rule, NULL);
	else
		push(round, block->rule, NULL, item);
}

void
collect(struct round *round, int is_last)
{
	const struct section *section = round->section;

	if (has_block(section) && !visit_judged(round->visit, section->block)) {
		visit_judge(round->visit, section->block);
		collect_block(round, section->block);
	}
	for (int i = 0; section->limits && i < section->limits->nelts; i++) {
		const struct limit *limit = APR_ARRAY_IDX(section->limits, i, const struct limit *);

		if ((limit->is_late && !is_last) || visit_judged(round->visit, limit))
			continue;
		visit_judge(round->visit, limit);
		collect_limit(round, limit);
	}
}
