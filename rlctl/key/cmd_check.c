/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check: decide one request as a worker would, and spend. peek: the same without spending. What a
 * check takes of what is in flight it gives back at once.
 */

#include <rl_admin.h>
#include <string.h>

#include "base/command.h"
#include "base/number.h"
#include "base/output.h"
#include "base/rule.h"
#include "key/verdict.h"
#include "text/error_text.h"

const struct command_option check_options[] = {
	{"cost", 'c', "N", "what the request takes of each limit; default: 1"},
	{0},
};

/* Cost 0 to the library is a peek. */
static bool
decide(struct rl *rl, struct decision *decision, uint64_t cost)
{
	int rule = rule_need(rl, decision->rule);
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX];
	struct rl_item item = {
		.rule = rule,
		.key = decision->key.bytes,
		.key_len = decision->key.len,
		.cost = cost,
		.charges = &charges,
	};

	if (rule < 0 || !rule_read(rl, rule, &decision->info))
		return false;
	rl_check_limits(rl, &item, &decision->result, &decision->count, decision->results);
	if (cost > 0)
		rl_release(rl, holds, rl_holds(&charges, holds, RL_LIMITS_MAX));
	if (decision->count > decision->info.limit_count)
		decision->count = decision->info.limit_count;
	if (decision->result.error)
		complain("%s: %s", decision->rule, error_text(decision->result.error).text);
	return true;
}

static int
answer(const struct context *context, struct rl *rl, struct decision *decision, uint64_t cost)
{
	if (!decide(rl, decision, cost))
		return EXIT_TROUBLE;
	if (option_value(context, "json"))
		output_json(decision_json(decision));
	else
		decision_print(decision);
	if (decision->result.verdict == RL_UNDECIDED)
		return EXIT_TROUBLE;
	return decision->result.verdict == RL_ALLOWED ? EXIT_YES : EXIT_NO;
}

static struct decision
decision_of(const struct context *context, uint64_t cost)
{
	const char *key = context->operands[1];

	return (struct decision){
		.rule = context->operands[0],
		.key = {key, strlen(key), strlen(key), 0},
		.cost = cost,
	};
}

int
run_check(const struct context *context)
{
	const char *text = option_value(context, "cost");
	struct decision decision;
	uint64_t cost = 1;
	struct rl *rl;

	if (text && !number_need("--cost", text, 1, UINT32_MAX, &cost))
		return EXIT_TROUBLE;
	decision = decision_of(context, cost);
	rl = key_need(decision.key.len) ? open_segment_writable(context) : NULL;
	return rl ? answer(context, rl, &decision, cost) : EXIT_TROUBLE;
}

int
run_peek(const struct context *context)
{
	struct decision decision = decision_of(context, 1);
	struct rl *rl = key_need(decision.key.len) ? open_segment(context) : NULL;

	return rl ? answer(context, rl, &decision, 0) : EXIT_TROUBLE;
}
