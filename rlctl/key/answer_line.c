/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/answer_line.h"

#include <inttypes.h>

#include "base/colour.h"
#include "base/rule.h"
#include "key/usage.h"

struct line {
	const char *answer;
	enum colour colour;
	unsigned limit; /* which of them */
	bool is_shared; /* what is used is that of several keys */
	struct usage usage;
};

static const char *
answer_of(const struct rl_result *result)
{
	if (result->reason == RL_BY_BAN)
		return "banned";
	if (result->reason == RL_BY_EXEMPTION)
		return "exempt";
	return result->is_shadow_denied ? "shadow" : verdict_name(result->verdict);
}

/* What a limit has counted; without a slot, what it has counted of this key and of others. */
static struct usage
usage_under(const struct explanation *x, unsigned i)
{
	const struct rl_result *result = &x->decision.results[i];

	if (x->counted[i].is_there)
		return usage_of(&x->counted[i].entry);
	if (i >= x->decision.count)
		return (struct usage){.limit = x->decision.info.limits[i].capacity};
	return (struct usage){
		.used = result->reason == RL_BY_RESERVE ? result->used : 0,
		.limit = result->limit,
		.retry_after_ns = result->retry_after_ns,
		.reset_after_ns = result->reset_after_ns,
	};
}

static bool
is_fuller(const struct usage *usage, const struct usage *than)
{
	return (double)usage->used * than->limit > (double)than->used * usage->limit;
}

static struct line
line_of(const struct explanation *x)
{
	const struct rl_result *result = &x->decision.result;
	bool is_decided = result->verdict != RL_ALLOWED &&
	                  (result->reason == RL_BY_LIMIT || result->reason == RL_BY_SHARE);
	struct line line = {.answer = answer_of(result), .usage = usage_under(x, 0)};

	if (line.usage.is_counter)
		line.answer = "counter";
	if (is_decided)
		line = (struct line){.answer = line.answer,
		                     .limit = result->index,
		                     .usage = usage_under(x, result->index)};
	for (unsigned i = 1; i < x->decision.info.limit_count && !is_decided; i++) {
		struct usage usage = usage_under(x, i);

		if (is_fuller(&usage, &line.usage)) {
			line.limit = i;
			line.usage = usage;
		}
	}
	line.is_shared = explanation_in_overflow(x, line.limit) != NULL;
	if (result->reason == RL_BY_BAN)
		line.colour = COLOUR_BANNED;
	else if (result->verdict == RL_DENIED || result->verdict == RL_NEVER)
		line.colour = COLOUR_LIMITED;
	return line;
}

void
answer_line_head(void)
{
	printf("%-9s  %10s/%-10s  %8s  %8s  rule\n", "answer", "used", "limit", "retry", "reset");
}

void
answer_line_print(struct rl *rl, const struct explanation *x)
{
	struct line line = line_of(x);
	char limit[16] = "-", used[24];

	snprintf(used, sizeof(used), "%s%" PRIu64, line.is_shared ? "~" : "", line.usage.used);
	if (!line.usage.is_counter)
		snprintf(limit, sizeof(limit), "%" PRIu32, line.usage.limit);
	printf("%s%-9s%s  %10s/%-10s  %8s  %8s  %s\n", colour_begin(line.colour), line.answer,
	       colour_end(line.colour), used, limit,
	       x->decision.result.reason == RL_BY_BAN
	               ? duration_format(x->decision.result.retry_after_ns).text
	               : usage_retry(&line.usage).text,
	       usage_reset(&line.usage).text, limit_label(rl, x->rule, line.limit).text);
}
