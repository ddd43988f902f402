/* SPDX-License-Identifier: BSD-2-Clause */

#include "cluster/give_orders.h"

#include <cluster/script.h>
#include <cluster/seal.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "cluster/said.h"

#define PATIENCE_MS 5000
#define PAUSE_MS 50
#define DAY_MS UINT64_C(86400000)
#define LIFE_MS (7 * DAY_MS)         /* of a reset, and of what lifts a ban */
#define LIFE_MAX_MS (36525 * DAY_MS) /* of a ban without an end */

struct given {
	uint64_t number, hosts, done; /* number: of the last order */
	json_t *missing;              /* the ids of hosts that have not done it */
};

/* ---- into the store ---- */

static void
take_number(void *arg, const struct store_value *v)
{
	*(uint64_t *)arg = (uint64_t)store_integer(v, 0);
}

/* Hosts that are gone are taken off the list, and the secret is compared. */
static bool
look_at_hosts(struct client *c)
{
	const char *argv[] = {
		"EVAL", script_announce, "2", SCRIPT_HOSTS, SCRIPT_CHECK, "", c->secret.check, "0",
		""};

	return client_ask(c, SCRIPT_HOSTS, 9, argv, NULL, NULL);
}

static uint64_t
life_ms(const struct order *o)
{
	uint64_t now_ns = client_now_ns(), left_ms;

	if (o->until_ns == 0)
		return LIFE_MS;
	left_ms = o->until_ns > now_ns ? (o->until_ns - now_ns) / RL_MILLISECOND + 1 : 0;
	return left_ms < LIFE_MAX_MS ? left_ms : LIFE_MAX_MS;
}

static bool
give(struct client *c, const struct order *order, uint64_t *number)
{
	unsigned char bytes[ORDER_MAX], sealed[ORDER_MAX + SEAL_MORE];
	char name[SEAL_NAME], life[24];
	size_t size = order_subject(order, bytes);
	const char *argv[] = {"EVAL",        script_give_order,       "3",
	                      SCRIPT_ORDERS, SCRIPT_ORDERS_BY_NUMBER, SCRIPT_ORDERS_BY_END,
	                      name,          (const char *)sealed,    life};
	size_t sizes[9];

	if (!seal_name(&c->secret, bytes, size, name)) {
		complain("there is no memory to seal an order");
		return false;
	}
	size = order_write(order, bytes);
	if (!seal_close(&c->secret, name, bytes, size, sealed)) {
		complain("there is no memory to seal an order");
		return false;
	}
	snprintf(life, sizeof life, "%" PRIu64, life_ms(order));
	for (int i = 0; i < 9; i++)
		sizes[i] = i == 7 ? size + SEAL_MORE : strlen(argv[i]);
	return client_ask_bytes(c, SCRIPT_ORDERS, 9, argv, sizes, take_number, number);
}

/* ---- who has done it ---- */

static void
take_hosts(void *arg, const struct store_value *v)
{
	struct given *g = arg;

	g->hosts = g->done = 0;
	json_array_clear(g->missing);
	for (size_t i = 0; i + 1 < v->count; i += 2) {
		struct said s;

		g->hosts++;
		if (said_read(store_text(v->items[i + 1]), &s) && s.orders >= g->number)
			g->done++;
		else
			json_push(g->missing, json_text(store_text(v->items[i])));
	}
}

static bool
wait_for_hosts(struct client *c, struct given *g)
{
	const char *argv[] = {"HGETALL", SCRIPT_HOSTS};
	struct timespec pause = {0, PAUSE_MS * 1000000};
	bool is_answered = true;

	for (int waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
		is_answered = client_ask(c, SCRIPT_HOSTS, 2, argv, take_hosts, g);
		if (!is_answered || g->done == g->hosts)
			break;
		nanosleep(&pause, NULL);
	}
	return is_answered;
}

static void
report(const struct context *context, const struct given *g)
{
	json_t *document, *id;
	size_t i;

	if (option_value(context, "json")) {
		document = need(json_object());
		json_put(document, "order", json_count(g->number));
		json_put(document, "hosts", json_count(g->hosts));
		json_put(document, "done", json_count(g->done));
		json_put(document, "missing", json_incref(g->missing));
		output_json(document);
	} else {
		printf("done on %" PRIu64 " of %" PRIu64 " host%s\n", g->done, g->hosts,
		       g->hosts == 1 ? "" : "s");
	}
	json_array_foreach(g->missing, i, id)
		complain("host %s has not done it yet: it will once it reaches the store",
	                 json_string_value(id));
}

static bool
give_all(struct client *c, const struct order *orders, unsigned count, uint64_t *number)
{
	for (unsigned i = 0; i < count; i++)
		if (!give(c, &orders[i], number))
			return false;
	return true;
}

int
give_orders(struct client *c, const struct context *context, const struct order *orders,
            unsigned count)
{
	struct given g = {.missing = need(json_array())};
	int status = EXIT_TROUBLE;

	if (look_at_hosts(c) && give_all(c, orders, count, &g.number) && wait_for_hosts(c, &g)) {
		report(context, &g);
		status = g.done == g.hosts ? EXIT_YES : EXIT_NO;
	}
	json_decref(g.missing);
	return status;
}
