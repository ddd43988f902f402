/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

enum operation {
	ADD,
	GET,
	SET,
	SET_NEW,
	TOUCH,
	DROP
};

struct request {
	struct rl *rl;
	int space;
	struct key key;
	double value;
	uint64_t lifetime_ns, now_ns;
};

static int
operate(const struct request *q, enum operation operation, struct rl_count *count)
{
	const void *key = q->key.bytes;
	size_t len = q->key.len;

	switch (operation) {
	case ADD:
		return rl_counter_add_at(q->rl, q->space, key, len, (int64_t)q->value,
		                         q->lifetime_ns, q->now_ns, count);
	case GET:
		return rl_counter_get_at(q->rl, q->space, key, len, q->now_ns, count);
	case SET:
		return rl_counter_set_at(q->rl, q->space, key, len, (uint64_t)q->value,
		                         q->lifetime_ns, q->now_ns, count);
	case SET_NEW:
		return rl_counter_set_new_at(q->rl, q->space, key, len, (uint64_t)q->value,
		                             q->lifetime_ns, q->now_ns, count);
	case TOUCH:
		return rl_counter_touch_at(q->rl, q->space, key, len, q->lifetime_ns, q->now_ns,
		                           count);
	case DROP:
		return rl_counter_drop_at(q->rl, q->space, key, len, q->now_ns);
	}
	return -EINVAL;
}

static bool
read_request(struct call *c, struct request *q, int32_t operation)
{
	double least = operation == ADD ? -(double)RL_COUNT_MAX : 0;

	q->value = 0;
	q->lifetime_ns = 0;
	return call_i32(c, 2, &q->space) && value_key(c->env, c->argv[3], &q->key) &&
	       (!call_has(c, 4) ||
	        call_whole(c, 4, "value", least, (double)RL_COUNT_MAX, &q->value)) &&
	       (!call_has(c, 5) || call_ns(c, 5, "lifetimeMs", &q->lifetime_ns));
}

/*
 * Lifetimes end on a whole millisecond. Where they begin on one, too, nobody is told more than was
 * asked for.
 */
static void
round_now(struct call *c, struct request *q)
{
	if (!call_has(c, 6))
		q->now_ns -= q->now_ns % RL_MILLISECOND;
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
	struct call c;
	struct request q;
	struct rl_count count = {0};
	int32_t operation;
	int rc;

	if (!call_begin(&c, env, info) || !call_i32(&c, 0, &operation) ||
	    !call_ready(&c, 1, 6, &q.rl, &q.now_ns) || !read_request(&c, &q, operation))
		return NULL;
	round_now(&c, &q);
	rc = operate(&q, (enum operation)operation, &count);
	if (rc < 0)
		return throw_rl(env, rc, "counter", NULL);
	put_count(&c.mine->out->answer, &count);
	return number(env, rc);
}
