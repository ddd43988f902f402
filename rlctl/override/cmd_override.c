/* SPDX-License-Identifier: BSD-2-Clause */
/* override: another limit for one key, for a time; on this host, or with --everywhere on all. */

#include <errno.h>
#include <inttypes.h>
#include <model/limit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/expiry.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/active_bans.h"
#include "key/ban_order.h"
#include "key/timed.h"
#include "override/everywhere.h"
#include "text/error_text.h"

const struct command_option override_options[] = {
	{"for", 'f', "D", "how long, as in 10m or 7d; default: " BAN_LENGTH},
	{"until", 'u', "TIME", "until when: " EXPIRY_FORMS},
	{"limit", 'l', "N", "the rule's limit number N; default: the one with RATE's window"},
	{"reason", 'm', "TEXT", "why, for those who ask later; at most 96 bytes"},
	{"everywhere", 'E', NULL, "on all hosts of the cluster"},
	{"config", 'c', "FILE", "with --everywhere: whose 'cluster' says where the store is"},
	{0},
};

static bool
is_lift(const struct context *context)
{
	return strcmp(context->operands[2], "none") == 0;
}

/* A number alone. */
static bool
read_capacity(const char *text, uint64_t *capacity)
{
	char *end;

	errno = 0;
	*capacity = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *capacity >= 1 &&
	       *capacity <= RL_CAPACITY_MAX;
}

static bool
complain_of_limit(const struct rl_rule_info *rule, const char *what)
{
	complain("override: rule '%s' has %u limits; say by --limit which one%s", rule->name,
	         rule->limit_count, what);
	return false;
}

/* The one with that window; none, or more than one, needs --limit. */
static bool
find_window(struct wanted *o, uint64_t window_ns, const char *text)
{
	const struct rl_rule_info *rule = &o->rule;
	unsigned found = 0;

	for (unsigned i = 0; i < rule->limit_count; i++)
		if (rule->limits[i].algorithm != RL_IN_FLIGHT &&
		    rule->limits[i].window_ns == window_ns) {
			o->limit = i;
			found++;
		}
	if (found > 1)
		return complain_of_limit(rule, " of those with that window");
	if (found == 0)
		complain("override: '%s': no limit of rule '%s' is by that time; 'rlctl status' "
		         "shows them",
		         text, rule->name);
	return found == 1;
}

static bool
read_number(const struct context *context, struct wanted *o, bool *is_given)
{
	const char *text = option_value(context, "limit");
	uint64_t number = 1;

	o->is_one = *is_given = text != NULL;
	if (text && (!read_capacity(text, &number) || number > o->rule.limit_count)) {
		complain("--limit: '%s': rule '%s' has limits 1 to %u", text, o->rule.name,
		         o->rule.limit_count);
		return false;
	}
	o->limit = (unsigned)number - 1;
	return true;
}

/* Which limit, and how much it is to admit. */
static bool
read_rate(const struct context *context, struct wanted *o)
{
	const char *text = context->operands[2];
	uint64_t window_ns;
	bool is_given;

	if (!read_number(context, o, &is_given))
		return false;
	if (limit_rate_parse(text, &o->capacity, &window_ns)) {
		if (!is_given)
			return find_window(o, window_ns, text);
		if (o->rule.limits[o->limit].window_ns == window_ns)
			return true;
		complain("override: '%s': limit %u of rule '%s' is by another time", text,
		         o->limit + 1, o->rule.name);
		return false;
	}
	if (!is_lift(context) && !read_capacity(text, &o->capacity)) {
		complain("override: '%s': expected a rate such as 20/min, a capacity of 1 to %u, "
		         "or none",
		         text, RL_CAPACITY_MAX);
		return false;
	}
	return is_given || is_lift(context) || o->rule.limit_count == 1 ||
	       complain_of_limit(&o->rule, "");
}

static bool
read_order(const struct context *context, struct rl *rl, struct wanted *o)
{
	int rule = rule_need(rl, context->operands[0]);

	*o = (struct wanted){.key = context->operands[1]};
	if (rule < 0 || !rule_read(rl, rule, &o->rule) || !read_rate(context, o))
		return false;
	if (is_lift(context))
		return true;
	if (!ban_order_read_end(context, rl_now(rl), &o->until_ns) ||
	    !ban_order_read_reason(context, &o->reason))
		return false;
	if (o->until_ns == RL_NEVER_NS)
		complain("override: it is for a time; what is to stay is an override of the "
		         "configuration: rlctl config set rules/%s/overrides/...",
		         o->rule.name);
	return o->until_ns != RL_NEVER_NS;
}

static void
complain_of(struct rl *rl, const struct wanted *o, int error)
{
	struct rl_info info;

	rl_info(rl, &info);
	if (error == RL_EBANS)
		complain("override: no place is left beside the bans and exemptions: the segment "
		         "was made with 'bans' %" PRIu32 "; 'rlctl bans' and 'rlctl overrides' "
		         "show what stands",
		         info.bans);
	else if (error == RL_ERING)
		complain("override: a log of %" PRIu64 " needs 'ring' %" PRIu64 ", and the segment "
		         "has %" PRIu32 "; 'rlctl resize --ring' changes that",
		         o->capacity, 2 * o->capacity, info.ring);
	else
		complain("override: %s", error_text(error).text);
}

static int
set(const struct context *context, struct rl *rl, const struct wanted *o)
{
	const struct key_view key = {o->key, strlen(o->key), strlen(o->key), 0};
	struct rl_ban_info info = {.rule = o->rule.handle,
	                           .limit = o->limit,
	                           .pattern = {RL_MATCH_KEY, key.bytes, key.len},
	                           .capacity = (uint32_t)o->capacity,
	                           .until_ns = o->until_ns,
	                           .author = geteuid()};
	struct active_bans now;
	int error;

	if (o->reason)
		memcpy(info.reason, o->reason, info.reason_len = strlen(o->reason));
	error = rl_ban_set(rl, &info);
	if (error < 0) {
		complain_of(rl, o, error);
		return EXIT_TROUBLE;
	}
	now = active_overrides_collect(rl, o->rule.handle, &key);
	for (size_t i = 0; i < now.count; i++) {
		if (now.items[i].limit != o->limit)
			continue;
		if (option_value(context, "json")) {
			output_json(timed_json(rl, &now.items[i]));
			break;
		}
		printf("%s in place of %s, rule %s, ",
		       timed_rate(rl, o->rule.handle, o->limit, (uint32_t)o->capacity).text,
		       timed_rate_before(rl, o->rule.handle, o->limit).text,
		       limit_label(rl, o->rule.handle, o->limit).text);
		timed_print_until(stdout, now.items[i].until_ns, now.now_ns);
		putchar('\n');
	}
	active_bans_free(&now);
	return EXIT_YES;
}

/* Of all limits, or of --limit alone. */
static int
lift(const struct context *context, struct rl *rl, const struct wanted *o)
{
	int lifted = 0;
	json_t *root;

	for (unsigned i = 0; i < o->rule.limit_count && lifted >= 0; i++) {
		int done = o->is_one && i != o->limit ? 0
		                                      : rl_override(rl, o->rule.handle, i, o->key,
		                                                    strlen(o->key), 0, 0);

		lifted = done < 0 ? done : lifted | done;
	}
	if (lifted < 0) {
		complain_of(rl, o, lifted);
		return EXIT_TROUBLE;
	}
	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "lifted", json_boolean(lifted));
		output_json(root);
	} else if (lifted) {
		puts("lifted");
	} else {
		complain("override: this key has none for a time under rule '%s'", o->rule.name);
	}
	return lifted ? EXIT_YES : EXIT_NO;
}

static int
run(const struct context *context, struct rl *rl)
{
	struct wanted o;

	if (!key_need(strlen(context->operands[1])) || !read_order(context, rl, &o))
		return EXIT_TROUBLE;
	if (option_value(context, "everywhere"))
		return override_everywhere(context, &o);
	return is_lift(context) ? lift(context, rl, &o) : set(context, rl, &o);
}

int
run_override(const struct context *context)
{
	struct rl *rl = open_segment_writable(context);

	return rl ? run(context, rl) : EXIT_TROUBLE;
}
