/* SPDX-License-Identifier: BSD-2-Clause */

#include "override/everywhere.h"

#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "cluster/give_orders.h"
#include "cluster/shared_capacity.h"

static bool
is_shared(const struct wanted *wanted, unsigned limit)
{
	return wanted->rule.limits[limit].scope == RL_SCOPE_CLUSTER;
}

/* Of all limits, where one of them is lifted by the store and another by hosts. */
static bool
is_mixed(const struct wanted *wanted)
{
	for (unsigned i = 1; i < wanted->rule.limit_count; i++)
		if (is_shared(wanted, i) != is_shared(wanted, 0))
			return true;
	return false;
}

static bool
is_of_all(const struct wanted *wanted)
{
	return wanted->capacity == 0 && !wanted->is_one;
}

static int
by_store(const struct context *context, const struct wanted *wanted)
{
	const struct shared_capacity there = {
		.rule = wanted->rule.name,
		.key = wanted->key,
		.limit = is_of_all(wanted) ? CLIENT_EACH_LIMIT : wanted->limit,
		.what = wanted->capacity > 0 ? CAPACITY_SET : CAPACITY_LIFTED,
		.capacity = wanted->capacity,
		.until_ns = wanted->until_ns,
	};

	if (!wanted->reason)
		return shared_capacity_run(context, &there);
	complain("override: --reason: of a limit that hosts share the store keeps none");
	return EXIT_TROUBLE;
}

static struct order
order_of(const struct wanted *wanted, unsigned limit)
{
	struct order order = {
		.verb = ORDER_OVERRIDE,
		.match = RL_MATCH_KEY,
		.key_len = strlen(wanted->key),
		.until_ns = wanted->until_ns,
		.author = geteuid(),
		.capacity = (uint32_t)wanted->capacity,
		.limit = limit,
	};

	strcpy(order.rule, wanted->rule.name);
	memcpy(order.key, wanted->key, order.key_len);
	if (wanted->reason)
		memcpy(order.reason, wanted->reason, order.reason_len = strlen(wanted->reason));
	return order;
}

static int
by_orders(const struct context *context, const struct wanted *wanted)
{
	struct order orders[RL_LIMITS_MAX];
	unsigned count = 0;
	struct client c;
	int status;

	for (unsigned i = 0; i < wanted->rule.limit_count; i++)
		if (is_of_all(wanted) || i == wanted->limit)
			orders[count++] = order_of(wanted, i);
	if (!client_open(&c, context, &status))
		return status;
	status = give_orders(&c, context, orders, count);
	client_close(&c);
	return status;
}

int
override_everywhere(const struct context *context, const struct wanted *wanted)
{
	if (is_of_all(wanted) && is_mixed(wanted)) {
		complain("override: rule '%s' has limits that hosts share and others; say by "
		         "--limit which one",
		         wanted->rule.name);
		return EXIT_TROUBLE;
	}
	return is_shared(wanted, wanted->limit) ? by_store(context, wanted)
	                                        : by_orders(context, wanted);
}
