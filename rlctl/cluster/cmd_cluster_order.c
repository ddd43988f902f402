/* SPDX-License-Identifier: BSD-2-Clause */
/* cluster reset, ban, allow, unban: what every host is to do. */

#include <cluster/order.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/match.h"
#include "base/operand.h"
#include "base/output.h"
#include "cluster/client.h"
#include "cluster/give_orders.h"
#include "key/ban_order.h"

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

static bool
read_end(const struct context *context, struct order *o)
{
	const char *reason;

	if (o->verb == ORDER_RESET || o->verb == ORDER_UNBAN)
		return true;
	if (!ban_order_read_end(context, client_now_ns(), &o->until_ns) ||
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

static int
run(const struct context *context, enum order_verb verb)
{
	struct order order = {.verb = verb};
	struct client c;
	int status;

	if (!client_open(&c, context, &status))
		return status;
	status = read_order(context, &c, &order) ? give_orders(&c, context, &order, 1)
	                                         : EXIT_TROUBLE;
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
