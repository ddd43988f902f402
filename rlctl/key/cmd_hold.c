/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold: run a command while it holds units in flight, as flock(1) does with a lock.
 *
 * The units belong to a process, and exec(2) keeps the process. So rlctl takes them and becomes the
 * command: they come back when that ends, however it ends, and nothing is left in between that
 * could be killed alone. What the command leaves running in the background holds nothing.
 */

#include <errno.h>
#include <metrics/in_flight.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/output.h"
#include "base/rule.h"
#include "text/duration.h"
#include "text/error_text.h"

#define LOOK_NS (100 * RL_MILLISECOND) /* units come back at no known time: look so often */

enum {
	EXIT_NOT_RUN = 126, /* as a shell says it of what cannot be run, and is not there */
	EXIT_NOT_FOUND = 127
};

const struct command_option hold_options[] = {
	{"cost", 'c', "N", "how many units it holds; default: 1"},
	{"wait", 'w', NULL, "wait until they can be had"},
	{"timeout", 't', "D", "wait so long at most, such as 30s"},
	{0},
};

struct wish {
	struct rl_item item;
	struct rl_charges charges;
	struct rl_result result;
	bool waits;
	uint64_t until_ns; /* with `waits` */
};

/* False after a message. */
static bool
can_hold(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	if (!rule_read(rl, rule, &info))
		return false;
	if (!rule_has_in_flight(&info))
		complain("rule '%s' has no concurrency limit: nothing can be held", info.name);
	return rule_has_in_flight(&info);
}

/*
 * Until a limit says that it may go, or the next look at what is in flight. False: a signal has
 * come.
 */
static bool
wait_for(const struct wish *wish)
{
	uint64_t ns = wish->result.retry_after_ns, left_ns = wish->until_ns - wish->item.now_ns;

	if (ns == 0 || ns > 10 * LOOK_NS)
		ns = ns == 0 ? LOOK_NS : 10 * LOOK_NS;
	if (left_ns < ns)
		ns = left_ns;
	return interrupt_sleep(ns);
}

static enum rl_verdict
acquire(struct rl *rl, struct wish *wish)
{
	for (;;) {
		enum rl_verdict verdict;

		wish->item.now_ns = rl_now(rl);
		verdict = rl_check_item(rl, &wish->item, &wish->result);
		if (verdict != RL_DENIED || !wish->waits || wish->item.now_ns >= wish->until_ns ||
		    !wait_for(wish))
			return verdict;
	}
}

/* If the command cannot be run, everything is given back. */
static int
become(struct rl *rl, struct wish *wish, char **command)
{
	int error;

	if (!output_flush())
		return EXIT_TROUBLE;
	execvp(command[0], command);
	error = errno;
	rl_refund(rl, &wish->charges);
	complain("%s: %s", command[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static int
hold(struct rl *rl, struct wish *wish, const char *rule, char **command)
{
	switch (acquire(rl, wish)) {
	case RL_ALLOWED:
		return become(rl, wish, command);
	case RL_DENIED:
		complain("%s: denied, %s is not run", rule, command[0]);
		return EXIT_NO;
	case RL_NEVER:
		complain("%s: %llu units are more than its limit of %u", rule,
		         (unsigned long long)wish->item.cost, wish->result.limit);
		return EXIT_NO;
	case RL_UNDECIDED:
		break;
	}
	complain("%s: %s", rule, error_text(wish->result.error).text);
	return EXIT_TROUBLE;
}

/* False after a message. */
static bool
read_options(const struct context *context, struct wish *wish)
{
	const char *cost = option_value(context, "cost"), *wrong = NULL;
	const char *timeout = option_value(context, "timeout");

	wish->item.cost = 1;
	wish->waits = option_value(context, "wait") || timeout;
	wish->until_ns = RL_NEVER_NS;
	if (cost && !number_need("--cost", cost, 1, UINT32_MAX, &wish->item.cost))
		return false;
	if (timeout)
		wrong = duration_parse(timeout, &wish->until_ns);
	if (wrong)
		complain("--timeout: %s: %s", timeout, wrong);
	return !wrong;
}

int
run_hold(const struct context *context)
{
	const char *name = context->operands[0], *key = context->operands[1];
	struct wish wish = {.item = {.key = key, .key_len = strlen(key)}};
	struct rl *rl;

	wish.item.charges = &wish.charges;
	if (!read_options(context, &wish) || !key_need(wish.item.key_len))
		return EXIT_TROUBLE;
	rl = open_segment_writable(context);
	if (!rl)
		return EXIT_TROUBLE;
	wish.item.rule = rule_need(rl, name);
	if (wish.until_ns != RL_NEVER_NS)
		wish.until_ns += rl_now(rl);
	if (wish.item.rule >= 0 && can_hold(rl, wish.item.rule))
		return hold(rl, &wish, name, &context->operands[2]);
	return EXIT_TROUBLE;
}
