/* SPDX-License-Identifier: BSD-2-Clause */
#include "orders.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "script.h"
#include "seal.h"

/* ---- the number ---- */

/* "identity number": of another identity it is another host's. */
static void
read_number(struct orders *o)
{
	char text[64] = "", identity[IDENTITY_TEXT];
	int fd = o->path[0] ? open(o->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	uint64_t number;

	if (fd < 0)
		return;
	if (read(fd, text, sizeof text - 1) > 0 &&
	    sscanf(text, "%11s %" SCNu64, identity, &number) == 2 &&
	    strcmp(identity, o->shares->identity->text) == 0) {
		o->number = number;
		o->begin = 1;
	}
	close(fd);
}

static void
keep_number(const struct orders *o)
{
	char text[64];
	int size = snprintf(text, sizeof text, "%s %" PRIu64 "\n", o->shares->identity->text,
	                    o->number);
	int fd = o->path[0] ? open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	                           0600)
	                    : -1;
	bool is_cached = fd >= 0 && write(fd, text, (size_t)size) == size;

	if (fd >= 0)
		close(fd);
	if (!is_cached && o->path[0])
		o->report(o->report_arg, true,
		          "cluster: orders: which was the last cannot be kept for the next start");
}

void
orders_open(struct orders *o, const char *state, const char *segment)
{
	if (state && snprintf(o->path, sizeof o->path, "%s/%s.orders", state, segment) >=
	                     (int)sizeof o->path)
		o->path[0] = '\0';
	read_number(o);
}

/* ---- to carry out ---- */

static const char *const verbs[ORDER_VERBS] = {
	[ORDER_RESET] = "reset", [ORDER_BAN] = "ban",           [ORDER_ALLOW] = "allow",
	[ORDER_UNBAN] = "unban", [ORDER_OVERRIDE] = "override",
};

/* A ban, an exemption or a limit for a time. */
static int
set_ban(struct rl *rl, int rule, const struct rl_pattern *pattern, const struct order *order)
{
	struct rl_ban_info ban = {
		.rule = rule,
		.is_exemption = order->verb == ORDER_ALLOW,
		.limit = order->limit,
		.capacity = order->capacity,
		.pattern = *pattern,
		.until_ns = order->until_ns,
		.author = order->author,
		.reason_len = order->reason_len,
	};

	memcpy(ban.reason, order->reason, sizeof ban.reason);
	return order->until_ns > rl_now(rl) ? rl_ban_set(rl, &ban) : 0;
}

/* 0 or more, or an error. */
static int
carry_out(struct orders *o, const struct order *order)
{
	const struct rl_pattern pattern = {order->match, order->key, order->key_len};
	int rule = order->rule[0] ? rl_find(o->rl, order->rule) : RL_ANY_RULE;

	if (order->rule[0] && rule < 0)
		return rule;
	if (order->verb == ORDER_RESET && order->match != RL_MATCH_KEY)
		return host_shares_reset_many(o->shares, rule,
		                              order->key_len > 0 ? &pattern : NULL);
	if (order->verb == ORDER_RESET)
		return host_shares_reset(o->shares, rule, order->key, order->key_len);
	if (order->verb == ORDER_UNBAN)
		return rl_unban(o->rl, rule, &pattern);
	if (order->verb == ORDER_OVERRIDE && order->capacity == 0)
		return rl_override(o->rl, rule, order->limit, order->key, order->key_len, 0, 0);
	return set_ban(o->rl, rule, &pattern, order);
}

/* Of the key nothing is told here: the segment's events have it, if names are kept. */
static void
report(struct orders *o, const struct order *order, int error)
{
	char text[200];

	snprintf(text, sizeof text, "cluster: order for all hosts: %s, %s%s: %s",
	         verbs[order->verb], order->rule[0] ? "rule " : "every rule", order->rule,
	         error < 0 ? rl_strerror(error) : "done");
	o->report(o->report_arg, error < 0, text);
}

/* In the segment, beside what the order has done there. */
static void
report_event(struct orders *o, const struct order *order)
{
	int rule = order->rule[0] ? rl_find(o->rl, order->rule) : RL_ANY_RULE;

	rl_cluster_report(o->rl, RL_EVENT_ORDER, rule, verbs[order->verb], 0, order->author);
}

static void
do_order(struct orders *o, const struct order *order)
{
	int error = carry_out(o, order);

	report(o, order, error);
	if (error >= 0)
		report_event(o, order);
}

static bool
open_sealed(const struct orders *o, const char *name, const struct store_value *sealed,
            unsigned char bytes[static ORDER_MAX])
{
	const unsigned char *text = (const unsigned char *)sealed->text;

	return seal_open(o->secret, name, text, sealed->size, bytes) ||
	       (o->other->check[0] && seal_open(o->other, name, text, sealed->size, bytes));
}

static void
take(struct orders *o, const char *name, uint64_t number, const struct store_value *sealed)
{
	unsigned char bytes[ORDER_MAX];
	struct order order;

	if (!sealed || sealed->type != STORE_TEXT || sealed->size <= SEAL_MORE ||
	    sealed->size > ORDER_MAX + SEAL_MORE || !open_sealed(o, name, sealed, bytes) ||
	    !order_read(bytes, sealed->size - SEAL_MORE, &order))
		o->report(o->report_arg, true,
		          "cluster: an order for all hosts is not of this secret: it is left out");
	else if (order.verb != ORDER_RESET || number >= o->begin)
		do_order(o, &order);
}

/* ---- to read ---- */

static void
take_orders(void *arg, uint64_t label, const struct store_value *v, uint64_t now_ns)
{
	struct orders *o = arg;
	uint64_t store_us = (uint64_t)store_integer(store_item(v, 0), 0);
	uint64_t top = (uint64_t)store_integer(store_item(v, 1), 0), before = o->number;

	(void)label;
	o->is_asked = false;
	if (!v || v->type != STORE_ARRAY || store_us == 0) {
		o->due_ns = now_ns + ORDERS_AGAIN_NS;
		return;
	}
	if (o->begin == 0)
		o->begin = store_us;
	for (size_t i = 2; i + 2 < v->count; i += 3) {
		uint64_t number = (uint64_t)store_integer(v->items[i + 1], 0);

		take(o, store_text(v->items[i]), number, v->items[i + 2]);
		o->number = number > o->number ? number : o->number;
	}
	if (o->number < top)
		o->due_ns = now_ns; /* there are more */
	if (o->number > top)
		o->number = top; /* the store has lost them */
	if (o->number != before)
		keep_number(o);
}

void
orders_run(struct orders *o, uint64_t now_ns, uint64_t random)
{
	char number[24];
	const char *argv[] = {"EVALSHA",
	                      store_script(o->store, SCRIPT_READ_ORDERS),
	                      "2",
	                      SCRIPT_ORDERS,
	                      SCRIPT_ORDERS_BY_NUMBER,
	                      number,
	                      ORDERS_BATCH};
	const struct store_question q = {.key = SCRIPT_ORDERS,
	                                 .key_size = strlen(SCRIPT_ORDERS),
	                                 .argc = 7,
	                                 .argv = argv,
	                                 .answer = take_orders,
	                                 .arg = o};

	if (o->is_asked || now_ns < o->due_ns)
		return;
	o->due_ns = now_ns + ORDERS_EVERY_NS * 3 / 4 + random % (ORDERS_EVERY_NS / 2);
	snprintf(number, sizeof number, "%" PRIu64, o->number);
	o->is_asked = store_ask(o->store, &q, now_ns) == 0;
	if (!o->is_asked)
		o->due_ns = now_ns + ORDERS_AGAIN_NS;
}
