/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/ban_order.h"

#include <errno.h>
#include <model/pattern_text.h>
#include <string.h>
#include <unistd.h>

#include "base/expiry.h"
#include "base/output.h"
#include "base/rule.h"
#include "text/duration.h"
#include "text/error_text.h"

static bool
read_for(const char *text, uint64_t now_ns, uint64_t *until_ns)
{
	const char *wrong = duration_parse(text, until_ns);

	if (!wrong && *until_ns == 0)
		wrong = "is no time at all";
	if (!wrong && (*until_ns > INT64_MAX - now_ns))
		wrong = "is too long";
	if (wrong)
		complain("--for: '%s' %s", text, wrong);
	else
		*until_ns += now_ns;
	return !wrong;
}

static bool
read_until(const char *text, uint64_t now_ns, uint64_t *until_ns)
{
	const char *wrong = expiry_parse(text, until_ns);

	if (!wrong && *until_ns <= now_ns)
		wrong = "is past";
	if (wrong)
		complain("--until: '%s' %s", text, wrong);
	return !wrong;
}

bool
ban_order_read_end(const struct context *context, uint64_t now_ns, uint64_t *until_ns)
{
	const char *length = option_value(context, "for"), *until = option_value(context, "until");

	if (length && until) {
		complain("%s: give --for or --until, not both", context->command->name);
		return false;
	}
	if (until)
		return read_until(until, now_ns, until_ns);
	return read_for(length ? length : BAN_LENGTH, now_ns, until_ns);
}

bool
ban_order_read_reason(const struct context *context, const char **reason)
{
	*reason = option_value(context, "reason");
	if (!*reason || strlen(*reason) <= RL_REASON_MAX)
		return true;
	complain("--reason: has %zu bytes; %d are kept", strlen(*reason), RL_REASON_MAX);
	return false;
}

/* Of a rule that counts addresses alone, a key that is none is refused, whether banned or not. */
static bool
counts_addresses(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	if (rule == RL_ANY_RULE || rl_rule_info(rl, rule, &info) < 0)
		return false;
	for (unsigned i = 0; i < info.limit_count; i++)
		if (info.limits[i].prefix_v4 == 0 && info.limits[i].prefix_v6 == 0)
			return false;
	return info.limit_count > 0;
}

bool
ban_order_read(const struct context *context, struct rl *rl, bool is_exemption,
               struct ban_order *order)
{
	*order = (struct ban_order){.is_exemption = is_exemption,
	                            .is_pattern = option_value(context, "pattern") != NULL};
	if (order->is_pattern && option_value(context, "exact")) {
		complain("%s: --exact and --pattern exclude each other", context->command->name);
		return false;
	}
	if (!ban_order_read_end(context, rl_now(rl), &order->until_ns) ||
	    !ban_order_read_reason(context, &order->reason))
		return false;
	order->rule = rule_option(rl, context);
	if (order->rule == RULE_UNKNOWN)
		return false;
	order->is_for_addresses = counts_addresses(rl, order->rule);
	return true;
}

const char *
ban_order_reach(const struct ban_order *order, const struct rl_pattern *pattern)
{
	if (!order->is_for_addresses || pattern_is_address(pattern))
		return NULL;
	return "neither an address nor a network: it would never match";
}

static int
see_counter(const struct rl_entry *entry, void *arg)
{
	(void)entry;
	(void)arg;
	return 1;
}

static bool
counts_networks(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	return rl_rule_info(rl, rule, &info) >= 0 && info.limit_count > 0 &&
	       (info.limits[0].prefix_v4 > 0 || info.limits[0].prefix_v6 > 0);
}

/*
 * Under a rule with prefixes the network's counter has the network's name, and no client chose it.
 */
static bool
is_counted(struct rl *rl, int rule, const char *name, size_t len)
{
	return !counts_networks(rl, rule) &&
	       rl_lookup(rl, rule, name, len, rl_now(rl), see_counter, NULL) == 1;
}

const char *
ban_order_doubt(struct rl *rl, const struct ban_order *order, const char *text, size_t len,
                const struct rl_pattern *pattern)
{
	bool is_name = pattern->match == RL_MATCH_KEY && pattern->key_len == len &&
	               memcmp(pattern->key, text, len) == 0;
	struct rl_info info;

	if (is_name || order->is_pattern)
		return NULL;
	rl_info(rl, &info);
	for (uint32_t rule = 0; rule < info.rules; rule++)
		if ((order->rule == RL_ANY_RULE || order->rule == (int)rule) &&
		    is_counted(rl, (int)rule, text, len))
			return "is the name of a key that is counted, too; say --exact for that "
			       "key, "
			       "--pattern for all that match";
	return NULL;
}

int
ban_order_set(struct rl *rl, const struct ban_order *order, const struct rl_pattern *pattern)
{
	struct rl_ban_info ban = {
		.rule = order->rule,
		.is_exemption = order->is_exemption,
		.pattern = *pattern,
		.until_ns = order->until_ns,
		.author = geteuid(),
		.reason_len = order->reason ? strlen(order->reason) : 0,
	};

	if (order->reason)
		memcpy(ban.reason, order->reason, ban.reason_len);
	return rl_ban_set(rl, &ban);
}

void
ban_complain(const struct context *context, struct rl *rl, int error)
{
	struct rl_info info;

	rl_info(rl, &info);
	if (error == RL_EBANS)
		complain("%s: the segment is made for %u bans and exemptions, and no place is left "
		         "for this one; 'rlctl bans' shows them",
		         context->command->name, info.bans);
	else if (error == -EINVAL || error == RL_EADDRESS)
		complain("%s: KEY can be no pattern: %s", context->command->name,
		         error_text(error).text);
	else
		complain("%s: %s", context->command->name, error_text(error).text);
}
