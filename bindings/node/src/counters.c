/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

static bool
read_item(struct call *c, enum rl_counter_op op, struct key *key, struct rl_counter_item *item)
{
	double value = 0, least = op == RL_COUNTER_ADD ? -(double)RL_COUNT_MAX : 0;

	if (!call_i32(c, 2, &item->space) || !value_key(c->env, c->argv[3], key) ||
	    (call_has(c, 4) && !call_whole(c, 4, "value", least, (double)RL_COUNT_MAX, &value)) ||
	    (call_has(c, 5) && !call_ns(c, 5, "lifetimeMs", &item->lifetime_ns)))
		return false;
	item->key = key->bytes;
	item->key_len = key->len;
	item->amount = (int64_t)value;
	return true;
}

/*
 * Lifetimes end on a whole millisecond. Where they begin on one, too, nobody is told more than was
 * asked for.
 */
static void
round_now(struct call *c, struct rl_counter_item *item)
{
	if (!call_has(c, 6))
		item->now_ns -= item->now_ns % RL_MILLISECOND;
}

/* The value stands where times do, for it may not fit, either. */
static void
put_count(struct answer *to, const struct rl_count *count)
{
	to->whole[WHOLE_SHADOW] = count->is_new;
	to->whole[WHOLE_TIMES + 1] = count->value <= INT32_MAX ? (int32_t)count->value : -1;
	to->ms[1] = (double)count->value;
	put_time(to, 0, count->expires_after_ns);
}

/*
 * counter(operation, segment, space, key, value, lifetime, now) -> what the call returned, or
 * nothing: look at the segment and ask again. `out` has the value, when it expires, and whether it
 * is new. Errors are thrown.
 */
NATIVE(counter)
{
	struct rl_counter_item item = {0};
	struct rl_count count = {0};
	struct key key;
	struct call c;
	struct rl *rl;
	int32_t op;
	int rc;

	if (!call_begin(&c, env, info) || !call_i32(&c, 0, &op) ||
	    !call_ready(&c, 1, 6, &rl, &item.now_ns) ||
	    !read_item(&c, (enum rl_counter_op)op, &key, &item))
		return NULL;
	round_now(&c, &item);
	rc = rl_counter_apply(rl, (enum rl_counter_op)op, &item, &count);
	if (rc < 0)
		return throw_rl(env, rc, "counter", NULL);
	put_count(&c.mine->out->answer, &count);
	return number(env, rc);
}
