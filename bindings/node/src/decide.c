/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include "item.h"

void
put_time(struct answer *to, int at, uint64_t ns)
{
	double ms = ms_of(ns);

	to->whole[WHOLE_TIMES + at] = ms <= INT32_MAX ? (int32_t)ms : -1;
	to->ms[at] = ms;
	to->ns[at] = ns;
}

/*
 * By hand, and held against rl_result_fields.def by tests/house/lists.py, as is lib/result.js: each
 * field has its place in the answer, so that a check makes no object but the result.
 */
void
put_result(struct answer *to, const struct rl_result *r)
{
	to->whole[WHOLE_VERDICT] = (int32_t)r->verdict;
	to->whole[WHOLE_ERROR] = r->error;
	to->whole[WHOLE_REASON] = (int32_t)r->reason;
	to->whole[WHOLE_INDEX] = (int32_t)r->index;
	to->whole[WHOLE_LIMIT] = (int32_t)r->limit;
	to->whole[WHOLE_REMAINING] = (int32_t)r->remaining;
	to->whole[WHOLE_USED] = (int32_t)r->used;
	to->whole[WHOLE_SHADOW] = r->is_shadow_denied;
	put_time(to, 0, r->retry_after_ns);
	put_time(to, 1, r->reset_after_ns);
	put_time(to, 2, r->delay_ns);
	put_time(to, 3, r->window_ns);
}

/* Neither decided nor an exception: JavaScript looks at the segment and asks again. */
static napi_value
put_look(struct call *c)
{
	c->mine->out->answer.whole[WHOLE_VERDICT] = VERDICT_LOOK;
	c->mine->out->answer.whole[WHOLE_ERROR] = 0;
	return NULL;
}

/* A cost of 1 needs no argument. */
static bool
call_cost(struct call *c, size_t arg, double *cost)
{
	*cost = 1;
	return !call_has(c, arg) || call_whole(c, arg, "cost", 0, 9007199254740991.0, cost);
}

/* check(segment, rule, key, cost, now): the answer is in `out` */
NATIVE(check)
{
	struct call c;
	struct rl *rl;
	struct key key;
	struct rl_result r;
	int32_t rule;
	struct rl_item item = {0};
	double cost;

	if (!call_begin(&c, env, info))
		return NULL;
	if (!call_ready(&c, 0, 4, &rl, &item.now_ns))
		return put_look(&c);
	if (!call_i32(&c, 1, &rule) || !value_key(env, c.argv[2], &key) || !call_cost(&c, 3, &cost))
		return NULL;
	item.rule = rule;
	item.key = key.bytes;
	item.key_len = key.len;
	item.cost = (uint64_t)cost;
	rl_check_item(rl, &item, &r);
	put_result(&c.mine->out->answer, &r);
	return NULL;
}

/* peek(segment, rule, key, now): the answer is in `out` */
NATIVE(peek)
{
	struct call c;
	struct rl *rl;
	struct key key;
	struct rl_result r;
	int32_t rule;
	struct rl_item item = {0};

	if (!call_begin(&c, env, info))
		return NULL;
	if (!call_ready(&c, 0, 3, &rl, &item.now_ns))
		return put_look(&c);
	if (!call_i32(&c, 1, &rule) || !value_key(env, c.argv[2], &key))
		return NULL;
	item.rule = rule;
	item.key = key.bytes;
	item.key_len = key.len;
	rl_decide(rl, &item, 1, RL_PEEK, 0, &r, NULL);
	put_result(&c.mine->out->answer, &r);
	return NULL;
}

static napi_value
put_limits(struct call *c, struct rl *rl, const struct rl_item *item)
{
	struct rl_result r, results[RL_LIMITS_MAX];
	struct answer *out = call_answer(c, 5, RL_LIMITS_MAX);
	size_t count = 0;

	if (out == NULL)
		return NULL;
	rl_check_limits(rl, item, &r, &count, results);
	put_result(&c->mine->out->answer, &r);
	for (size_t i = 0; i < count; i++)
		put_result(&out[i], &results[i]);
	return number(c->env, (double)count);
}

/*
 * checkItem(segment, item, now, ticket, maxWait, limits): the answer is in `out`. With maxWait a
 * booking; with `limits`, numbers for each limit of the rule, how many of them were told.
 */
NATIVE(checkItem)
{
	struct call c;
	struct rl *rl;
	struct key key;
	struct ticket *ticket;
	struct rl_item item;
	struct rl_result r;
	uint64_t now_ns, wait_ns = 0;

	if (!call_begin(&c, env, info))
		return NULL;
	if (!call_ready(&c, 0, 2, &rl, &now_ns))
		return put_look(&c);
	if (!read_item(env, c.argv[1], &key, &item) || !call_ticket(&c, 3, &ticket) ||
	    (call_has(&c, 4) && !call_ns(&c, 4, "maxWaitMs", &wait_ns)))
		return NULL;
	item.now_ns = now_ns;
	item.charges = ticket == NULL ? NULL : &ticket->charges;
	if (call_has(&c, 5))
		return put_limits(&c, rl, &item);
	if (call_has(&c, 4))
		rl_decide(rl, &item, 1, RL_RESERVE, wait_ns, &r, NULL);
	else
		rl_check_item(rl, &item, &r);
	put_result(&c.mine->out->answer, &r);
	return NULL;
}
