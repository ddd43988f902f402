/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster reset, ban, allow, unban: what every host is to do, and who has done it. */

#include <cluster/order.h>
#include <cluster/script.h>
#include <cluster/seal.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/match.h"
#include "base/operand.h"
#include "base/output.h"
#include "cluster/client.h"
#include "cluster/said.h"
#include "key/ban_order.h"

#define PATIENCE_MS 5000
#define PAUSE_MS 50
#define DAY_MS UINT64_C(86400000)
#define LIFE_MS (7 * DAY_MS)         /* of a reset, and of what lifts a ban */
#define LIFE_MAX_MS (36525 * DAY_MS) /* of a ban without an end */

struct given {
	struct order order;
	uint64_t number, hosts, done;
	json_t *missing; /* the ids of hosts that have not done it */
};

/* ---- what the command line says ---- */

static bool
has_rule(const struct client *c, const char *rule)
{
	for (size_t i = 0; i < c->config->rule_count; i++)
		if (strcmp(c->config->rules[i].rule.name, rule) == 0)
			return true;
	return c->config->cluster.has_shared_rules;
}

static bool
read_rule(const struct client *c, struct order *o, const char *rule)
{
	if (strlen(rule) > RL_NAME_MAX || !has_rule(c, rule)) {
		complain("%s: no rule '%s'", c->config->path, rule);
		return false;
	}
	strcpy(o->rule, rule);
	return true;
}

/* KEY is the operand at `key`. */
static bool
read_key(const struct context *context, struct order *o, char **key)
{
	struct context of_key = *context;
	struct pattern_text read;

	of_key.operands = key;
	if (!pattern_operand(&of_key, &read))
		return false;
	o->match = o->verb == ORDER_RESET ? RL_MATCH_KEY : read.pattern.match;
	o->key_len = read.pattern.key_len;
	memcpy(o->key, read.pattern.key, o->key_len);
	if (o->verb != ORDER_RESET || read.pattern.match != RL_MATCH_PREFIX)
		return true;
	complain("cluster reset: KEY is one key, and this is a prefix: --match resets all that "
	         "match");
	return false;
}

/* Every key of the rule, or those that a host finds by what --match begins with, or by its
 * network. */
static bool
read_many(const struct context *context, struct order *o, const char *rule)
{
	const char *text = option_value(context, "match");
	struct rl_pattern pattern = {.match = RL_MATCH_PREFIX};
	struct match match;

	if (text && !match_make("--match", text, &match))
		return false;
	if (text && !match_is_all(&match) &&
	    (!match_as_pattern(&match, &pattern) || pattern.key_len > RL_KEY_MAX)) {
		complain("cluster reset: --match '%s': expected a prefix and *, or a network",
		         text);
		return false;
	}
	o->match = pattern.match;
	o->key_len = pattern.key_len;
	if (pattern.key_len > 0)
		memcpy(o->key, pattern.key, pattern.key_len);
	return confirm(context, "Reset every key%s%s of rule %s on all hosts?",
	               text ? " that matches " : "", text ? text : "", rule);
}

static bool
read_keys(const struct context *context, struct order *o)
{
	bool has_key = context->operand_count > 1;

	if (o->verb != ORDER_RESET)
		return read_key(context, o, context->operands);
	if (has_key && option_value(context, "match")) {
		complain("cluster reset: KEY and --match exclude each other");
		return false;
	}
	return has_key ? read_key(context, o, context->operands + 1)
	               : read_many(context, o, context->operands[0]);
}

static uint64_t
unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * RL_SECOND + (uint64_t)now.tv_nsec;
}

static bool
read_end(const struct context *context, struct order *o)
{
	const char *reason;

	if (o->verb == ORDER_RESET || o->verb == ORDER_UNBAN)
		return true;
	if (!ban_order_read_end(context, unix_ns(), &o->until_ns) ||
	    !ban_order_read_reason(context, &reason))
		return false;
	if (reason) {
		o->reason_len = strlen(reason);
		memcpy(o->reason, reason, o->reason_len);
	}
	return true;
}

static bool
read_order(const struct context *context, const struct client *c, struct order *o)
{
	const char *rule =
		o->verb == ORDER_RESET ? context->operands[0] : option_value(context, "rule");

	o->author = geteuid();
	return (!rule || read_rule(c, o, rule)) && read_keys(context, o) && read_end(context, o);
}

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
	uint64_t now_ns = unix_ns(), left_ms;

	if (o->until_ns == 0)
		return LIFE_MS;
	left_ms = o->until_ns > now_ns ? (o->until_ns - now_ns) / RL_MILLISECOND + 1 : 0;
	return left_ms < LIFE_MAX_MS ? left_ms : LIFE_MAX_MS;
}

static bool
give(struct client *c, struct given *g)
{
	unsigned char bytes[ORDER_MAX], sealed[ORDER_MAX + SEAL_MORE];
	char name[SEAL_NAME], life[24];
	size_t size = order_subject(&g->order, bytes);
	const char *argv[] = {"EVAL",        script_give_order,       "3",
	                      SCRIPT_ORDERS, SCRIPT_ORDERS_BY_NUMBER, SCRIPT_ORDERS_BY_END,
	                      name,          (const char *)sealed,    life};
	size_t sizes[9];

	if (!seal_name(&c->secret, bytes, size, name)) {
		complain("there is no memory to seal an order");
		return false;
	}
	size = order_write(&g->order, bytes);
	if (!seal_close(&c->secret, name, bytes, size, sealed)) {
		complain("there is no memory to seal an order");
		return false;
	}
	snprintf(life, sizeof life, "%" PRIu64, life_ms(&g->order));
	for (int i = 0; i < 9; i++)
		sizes[i] = i == 7 ? size + SEAL_MORE : strlen(argv[i]);
	return client_ask_bytes(c, SCRIPT_ORDERS, 9, argv, sizes, take_number, &g->number);
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

static int
run(const struct context *context, enum order_verb verb)
{
	struct given g = {.order.verb = verb};
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	status = EXIT_TROUBLE;
	g.missing = need(json_array());
	if (read_order(context, &c, &g.order) && look_at_hosts(&c) && give(&c, &g) &&
	    wait_for_hosts(&c, &g)) {
		report(context, &g);
		status = g.done == g.hosts ? EXIT_YES : EXIT_NO;
	}
	json_decref(g.missing);
	client_close(&c);
	return status;
}

int
cluster_reset(const struct context *context)
{
	return run(context, ORDER_RESET);
}

int
cluster_ban(const struct context *context)
{
	return run(context, ORDER_BAN);
}

int
cluster_allow(const struct context *context)
{
	return run(context, ORDER_ALLOW);
}

int
cluster_unban(const struct context *context)
{
	return run(context, ORDER_UNBAN);
}
