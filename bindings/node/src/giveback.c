/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include "charges.h"
#include "item.h"

/* refund(segment, ticket, now, ratesAlone) -> 1 given back, 0 ignored */
NATIVE(refund)
{
	struct call c;
	struct used_segment *used;
	struct ticket *ticket;
	uint64_t now_ns;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_ticket(&c, 1, &ticket) || !call_now(&c, 2, used->handle->s.rl, &now_ns))
		return NULL;
	if (ticket == NULL)
		return number(env, 0);
	ticket->charges.now_ns = now_ns;
	return number_or_throw(
		env, rlb_refund(used->handle->s.rl, &ticket->charges, !call_has(&c, 3)), "refund");
}

/* settle(segment, ticket, actual, now) -> 1 something that counts has changed, 0 nothing has */
NATIVE(settle)
{
	struct call c;
	struct used_segment *used;
	struct ticket *ticket;
	double actual;
	uint64_t now_ns;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_ticket(&c, 1, &ticket) ||
	    !call_whole(&c, 2, "actual", 0, 9007199254740991.0, &actual) ||
	    !call_now(&c, 3, used->handle->s.rl, &now_ns))
		return NULL;
	if (ticket == NULL)
		return number(env, 0);
	ticket->charges.now_ns = now_ns;
	return number_or_throw(
		env, rl_settle(used->handle->s.rl, &ticket->charges, (uint64_t)actual), "settle");
}

/* refundKey(segment, item, now) -> what was given back at most */
NATIVE(refundKey)
{
	struct call c;
	struct used_segment *used;
	struct key key;
	struct rl_item item;
	uint64_t now_ns;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !read_item(env, c.argv[1], &key, &item) ||
	    !call_now(&c, 2, used->handle->s.rl, &now_ns))
		return NULL;
	item.now_ns = now_ns;
	return number_or_throw(env, rl_refund_key(used->handle->s.rl, &item), "refund");
}

/* What could not be given back stays in the ticket, for another call. */
static int
release(struct rl *rl, struct ticket *ticket)
{
	size_t held = ticket->held <= RL_LIMITS_MAX ? ticket->held : 0;
	int rc;

	held += rl_holds(&ticket->charges, ticket->holds + held, RL_LIMITS_MAX - held);
	rc = rl_release(rl, ticket->holds, held);
	ticket->held = rc < 0 ? held : 0;
	return rc;
}

/* release(segment, ticket) -> 1 given back, 0 there was nothing */
NATIVE(release)
{
	struct call c;
	struct used_segment *used;
	struct ticket *ticket;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_ticket(&c, 1, &ticket))
		return NULL;
	if (ticket == NULL)
		return number(env, 0);
	return number_or_throw(env, release(used->handle->s.rl, ticket), "release");
}

/* reset(segment, rule, key) -> 1 forgotten, 0 there was nothing */
NATIVE(reset)
{
	struct call c;
	struct used_segment *used;
	struct key key;
	int32_t rule;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL ||
	    !call_i32(&c, 1, &rule) || !value_key(env, c.argv[2], &key))
		return NULL;
	return number_or_throw(env, rl_reset(used->handle->s.rl, rule, key.bytes, key.len),
	                       "reset");
}
