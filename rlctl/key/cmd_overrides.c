/* SPDX-License-Identifier: BSD-2-Clause */
/* overrides: the limits that keys have for a time. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/form.h"
#include "base/rule.h"
#include "base/user.h"
#include "base/watch.h"
#include "key/in_force.h"
#include "key/timed.h"
#include "text/duration.h"

const struct command_option overrides_options[] = {
	{"rule", 'r', "RULE", "of this rule"},
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

#define TAIL_COLUMN 53 /* where a rule begins */

static void
print_head(bool is_wide)
{
	(void)is_wide;
	printf("%8s  %11s  %11s  %7s  %-6s  rule  key  reason\n", "left", "limit", "else", "set",
	       "by");
}

static void
print_one(struct rl *rl, const struct active_ban *timed, uint64_t now_ns, bool is_wide,
          size_t columns)
{
	char *tail = in_force_tail(limit_label(rl, timed->rule, timed->limit).text, RL_MATCH_KEY,
	                           &timed->key, timed->reason,
	                           columns > TAIL_COLUMN ? columns - TAIL_COLUMN : 0);

	(void)is_wide;
	printf("%8s  %11s  %11s  %7s  %-6s  %s\n",
	       duration_format(timed_left_ns(timed->until_ns, now_ns)).text,
	       timed_rate(rl, timed->rule, timed->limit, timed->capacity).text,
	       timed_rate_before(rl, timed->rule, timed->limit).text,
	       timed->has_note ? duration_format(active_ban_age_ns(timed, now_ns)).text : "-",
	       timed->has_note ? user_format(timed->author).text : "-", tail);
	free(tail);
}

static void
write_tsv(struct rl *rl, const struct active_ban *timed)
{
	printf("%" PRIu32 "\t%" PRIu64, timed->capacity, timed->until_ns);
	if (timed->has_note)
		printf("\t%" PRIu64 "\t%" PRIu32 "\t", timed->since_ns, timed->author);
	else
		fputs("\t\t\t", stdout);
	if (timed->reason)
		output_bytes(stdout, timed->reason, strlen(timed->reason));
	printf("\t%s\t", limit_label(rl, timed->rule, timed->limit).text);
	output_key(stdout, &timed->key);
	putchar('\n');
}

static struct active_bans
collect(const struct context *context, struct rl *rl, int rule)
{
	(void)context;
	return active_overrides_collect(rl, rule, NULL);
}

static int
show(const struct context *context)
{
	static const struct in_force of = {
		"overrides", "capacity\tuntil_ns\tsince_ns\tauthor\treason\trule\tkey",
		collect,     print_head,
		print_one,   write_tsv,
		timed_json};

	return in_force_show(context, &of);
}

int
run_overrides(const struct context *context)
{
	return watch_run(context, show);
}
