/* SPDX-License-Identifier: BSD-2-Clause */
/* bans: the bans and exemptions in force. */

#include <inttypes.h>
#include <load/load.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/command.h"
#include "base/form.h"
#include "base/output.h"
#include "base/rule.h"
#include "base/user.h"
#include "base/watch.h"
#include "key/active_bans.h"
#include "key/configured.h"
#include "key/in_force.h"
#include "text/duration.h"

const struct command_option bans_options[] = {
	{"rule", 'r', "RULE", "those that hold under this rule"},
	{"config", 'c', "FILE",
         "whose overrides are shown (default: $RL_CONFIG, or " CONFIG_DEFAULT_PATH ")"},
	FORM_OPTIONS,
	WATCH_OPTIONS(0),
	{0},
};

static const char *
source_of(const struct active_ban *ban)
{
	return ban->is_configured ? "configuration" : "call";
}

struct cell_text {
	char text[40];
};

static struct cell_text
left_format(const struct active_ban *ban, uint64_t now_ns)
{
	uint64_t until_ns = ban->until_ns;
	struct cell_text out = {"never"};

	if (until_ns != RL_NEVER_NS)
		strcpy(out.text, duration_format(until_ns > now_ns ? until_ns - now_ns : 0).text);
	return out;
}

static struct cell_text
until_format(const struct active_ban *ban)
{
	struct cell_text out = {"never"};

	if (ban->is_configured)
		strcpy(out.text, "as configured");
	else if (ban->until_ns != RL_NEVER_NS)
		strcpy(out.text, time_format(ban->until_ns, false).text);
	return out;
}

/* How long ago, by whom and how often, or "-" where nobody knows. */
static void
print_note(const struct active_ban *ban, uint64_t now_ns)
{
	if (ban->has_note)
		printf("  %7s  %7" PRIu64 "  %-8s",
		       duration_format(active_ban_age_ns(ban, now_ns)).text, ban->hits,
		       user_format(ban->author).text);
	else
		printf("  %7s  %7s  %-8s", "-", "-", ban->is_configured ? "config" : "-");
}

#define TAIL_COLUMN 50 /* where a rule begins */

static void
print_ban(struct rl *rl, const struct active_ban *ban, uint64_t now_ns, bool is_wide,
          size_t columns)
{
	char *tail = in_force_tail(rule_label(rl, ban->rule).text, ban->match, &ban->key,
	                           ban->reason, columns > TAIL_COLUMN ? columns - TAIL_COLUMN : 0);
	enum colour colour = ban->is_exemption ? COLOUR_PLAIN : COLOUR_BANNED;

	printf("%8s", left_format(ban, now_ns).text);
	if (is_wide)
		printf("  %-19s  %-19s  %-7s", until_format(ban).text,
		       ban->has_note ? time_format(ban->since_ns, false).text : "-",
		       match_name(ban->match));
	printf("  %s%-9s%s", colour_begin(colour), effect_name(ban->is_exemption),
	       colour_end(colour));
	print_note(ban, now_ns);
	printf("  %s\n", tail);
	free(tail);
}

static void
print_head(bool is_wide)
{
	printf("%8s", "left");
	if (is_wide)
		printf("  %-19s  %-19s  %-7s", "until (UTC)", "since (UTC)", "match");
	printf("  %-9s  %7s  %7s  %-8s  %s\n", "effect", "set", "hits", "by",
	       "rule  pattern  reason");
}

static void
write_tsv(struct rl *rl, const struct active_ban *ban)
{
	printf("%s\t%s\t%s\t", effect_name(ban->is_exemption), rule_label(rl, ban->rule).text,
	       match_name(ban->match));
	pattern_print(stdout, ban->match, &ban->key);
	if (ban->until_ns == RL_NEVER_NS)
		fputs("\tnever", stdout);
	else
		printf("\t%" PRIu64, ban->until_ns);
	if (ban->has_note)
		printf("\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu64 "\t", ban->since_ns, ban->author,
		       ban->hits);
	else
		fputs("\t\t\t\t", stdout);
	if (ban->reason)
		output_bytes(stdout, ban->reason, strlen(ban->reason));
	printf("\t%s\n", source_of(ban));
}

static json_t *
ban_json(struct rl *rl, const struct active_ban *ban)
{
	json_t *object = active_ban_json(rl, ban);

	json_put(object, "source", json_text(source_of(ban)));
	return object;
}

static struct active_bans
collect(const struct context *context, struct rl *rl, int rule)
{
	struct active_bans found = active_bans_collect(rl, rule, NULL);

	active_bans_add_configured(rl, rule, config_path(option_value(context, "config")), &found);
	return found;
}

static int
show(const struct context *context)
{
	static const struct in_force of = {
		"bans",
		"effect\trule\tmatch\tpattern\tuntil_ns\tsince_ns\tauthor\thits\treason\tsource",
		collect,
		print_head,
		print_ban,
		write_tsv,
		ban_json};

	return in_force_show(context, &of);
}

int
run_bans(const struct context *context)
{
	return watch_run(context, show);
}
