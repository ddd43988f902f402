/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include "item.h"

#include <stdlib.h>

/*
 * Items of one call, and where their keys are. More are decided in several calls of
 * rl_check_many().
 */
struct batch {
	size_t count;
	struct rl_item items[RL_ITEMS_MAX];
	struct rl_result results[RL_ITEMS_MAX];
	struct key keys[RL_ITEMS_MAX];
};

static bool
read_ticket(struct call *c, size_t arg, uint32_t at, struct rl_item *item)
{
	struct call of_one = *c;
	struct ticket *ticket;

	if (!call_has(c, arg))
		return true;
	of_one.argv[arg] = array_of(c->env, c->argv[arg], at);
	if (!call_ticket(&of_one, arg, &ticket))
		return false;
	item->charges = ticket == NULL ? NULL : &ticket->charges;
	return true;
}

static bool
read_batch(struct call *c, struct batch *b, uint32_t from, uint32_t to, uint64_t now_ns)
{
	b->count = to - from;
	for (uint32_t i = from; i < to; i++) {
		if (!read_item(c->env, array_of(c->env, c->argv[1], i), &b->keys[i - from],
		               &b->items[i - from]) ||
		    !read_ticket(c, 3, i, &b->items[i - from]))
			return false;
		b->items[i - from].now_ns = now_ns;
	}
	return true;
}

/*
 * The arguments are (segment, items, now, tickets, maxWait, results), `results` with room for each
 * item. NULL: an exception; or, if *is_look, it is time to look at the segment.
 */
static struct batch *
begin(struct call *c, struct rl **rl, uint32_t *count, uint64_t *now_ns, struct answer **out,
      bool *is_look)
{
	*is_look = false;
	if (!call_ready(c, 0, 2, rl, now_ns)) {
		*is_look = true;
		c->mine->out->answer.whole[WHOLE_VERDICT] = VERDICT_LOOK;
		return NULL;
	}
	if (napi_get_array_length(c->env, c->argv[1], count) != napi_ok) {
		throw_type(c->env, "items", "an array");
		return NULL;
	}
	*out = call_answer(c, 5, *count);
	if (*out == NULL)
		return NULL;
	return malloc(sizeof(struct batch));
}

static void
put_batch(struct answer *out, const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		put_result(&out[i], &b->results[i]);
}

/* checkAll(...) -> the item that decided, or their count; `out` has the verdict. */
NATIVE(checkAll)
{
	struct call c;
	struct rl *rl;
	struct batch *b;
	uint32_t count;
	uint64_t now_ns, wait_ns = 0;
	struct answer *out;
	size_t by = 0;
	bool is_look, is_read;

	if (!call_begin(&c, env, info) ||
	    (b = begin(&c, &rl, &count, &now_ns, &out, &is_look)) == NULL)
		return NULL;
	is_read = count <= RL_ITEMS_MAX &&
	          (!call_has(&c, 4) || call_ns(&c, 4, "maxWaitMs", &wait_ns)) &&
	          read_batch(&c, b, 0, count, now_ns);
	if (is_read) {
		c.mine->out->answer.whole[WHOLE_VERDICT] = (int32_t)rl_decide(
			rl, b->items, b->count, call_has(&c, 4) ? RL_RESERVE : RL_CHECK, wait_ns,
			b->results, &by);
		put_batch(out, b);
	}
	free(b);
	if (count > RL_ITEMS_MAX)
		return throw_range(env, "items", "at most 32 are allowed");
	return is_read ? number(env, (double)by) : NULL;
}

/* checkMany(...) */
NATIVE(checkMany)
{
	struct call c;
	struct rl *rl;
	struct batch *b;
	uint32_t count;
	uint64_t now_ns;
	struct answer *out;
	bool is_look;

	if (!call_begin(&c, env, info) ||
	    (b = begin(&c, &rl, &count, &now_ns, &out, &is_look)) == NULL)
		return NULL;
	c.mine->out->answer.whole[WHOLE_VERDICT] = 0;
	for (uint32_t i = 0; i < count; i += RL_ITEMS_MAX) {
		uint32_t to = count - i < RL_ITEMS_MAX ? count : i + RL_ITEMS_MAX;

		if (!read_batch(&c, b, i, to, now_ns))
			break;
		rl_check_many(rl, b->items, b->count, b->results);
		put_batch(out + i, b);
	}
	free(b);
	return NULL;
}
