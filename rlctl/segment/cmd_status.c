/* SPDX-License-Identifier: BSD-2-Clause */
/* status: the segment, who sweeps it, its rules, and the sum of every counter. */

#include <grp.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <rl_fields.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/command.h"
#include "base/counts.h"
#include "base/history_view.h"
#include "base/huge_pages.h"
#include "base/lease_view.h"
#include "base/limit_view.h"
#include "base/option_view.h"
#include "base/output.h"
#include "base/overflow_view.h"
#include "base/rule.h"
#include "base/sparkline.h"
#include "base/user.h"
#include "base/watch.h"
#include "base/width.h"
#include "text/duration.h"
#include "text/names.h"

const struct command_option status_options[] = {
	WATCH_OPTIONS(0),
	{0},
};

struct rule_status {
	int id;
	struct rl_rule_info info;
	uint64_t counters[RL_COUNTERS];
	uint64_t overrides;
	uint64_t bans; /* and exemptions, in force for this rule alone */
};

struct status {
	struct rl_info info;
	uint64_t now_ns;
	uint64_t fill;
	uint64_t huge_bytes;
	bool has_huge_bytes; /* else nobody knows */
	uint64_t bans;       /* and exemptions, in force for any rule or every one */
	size_t rule_count;
	struct rule_status *rules;
	uint64_t totals[RL_COUNTERS];
	struct rl *rl;
	struct overflow_view reserve;
	struct lease_view lease;
};

struct id_text {
	char text[64];
};

static void
add_rule(struct status *status, struct rl *rl, int id)
{
	struct rule_status *rule = &status->rules[status->rule_count];

	if (!rule_read(rl, id, &rule->info) ||
	    rl_stats(rl, rule->info.handle, rule->counters, RL_COUNTERS) < 0)
		return;
	for (size_t i = 0; i < RL_COUNTERS; i++)
		status->totals[i] += rule->counters[i];
	rule->id = rule->info.handle;
	rule->overrides = rl_override_count(rl, rule->id);
	status->rule_count++;
}

static int
count_ban(const struct rl_ban_info *ban, void *arg)
{
	struct status *status = arg;

	status->bans++;
	for (size_t i = 0; i < status->rule_count; i++)
		status->rules[i].bans += status->rules[i].id == ban->rule;
	return 0;
}

static void
collect(struct status *status, struct rl *rl)
{
	memset(status, 0, sizeof(*status));
	rl_info(rl, &status->info);
	status->now_ns = rl_now(rl);
	status->fill = rl_fill(rl);
	status->has_huge_bytes = huge_pages_read(status->info.name, &status->huge_bytes);
	status->rules = need(calloc(status->info.rules + 1, sizeof(*status->rules)));
	for (uint32_t id = 0; id < status->info.rules; id++)
		add_rule(status, rl, (int)id);
	rl_bans_walk(rl, status->now_ns, count_ban, status);
	status->rl = rl;
	status->lease = lease_view_read(rl, status->now_ns);
	status->reserve = overflow_view_read(rl, RL_ANY_RULE, status->now_ns);
}

static struct id_text
group_format(gid_t gid)
{
	const struct group *entry = getgrgid(gid);
	struct id_text out;

	if (entry)
		snprintf(out.text, sizeof(out.text), "%s", entry->gr_name);
	else
		snprintf(out.text, sizeof(out.text), "%u", (unsigned)gid);
	return out;
}

static struct id_text
mode_format(mode_t mode)
{
	struct id_text out;

	snprintf(out.text, sizeof(out.text), "%04o", mode & 07777U);
	return out;
}

/* Parts per thousand of the slots that are used. */
static uint64_t
fill_permille(const struct status *status)
{
	return status->info.slots ? status->fill * 1000 / status->info.slots : 0;
}

/* How long ago the sweeper said that it lives. */
static uint64_t
heartbeat_age_ns(const struct status *status)
{
	uint64_t heartbeat_ns = status->info.heartbeat_ns;

	return status->now_ns > heartbeat_ns ? status->now_ns - heartbeat_ns : 0;
}

static void
print_sweeper(const struct status *status)
{
	if (status->info.sweeper == 0)
		puts("sweeper    no sweeper");
	else if (status->info.sweeper == RL_PID_ELSEWHERE)
		printf("sweeper    in another pid namespace, heartbeat %s ago\n",
		       duration_format(heartbeat_age_ns(status)).text);
	else
		printf("sweeper    pid %d, heartbeat %s ago\n", (int)status->info.sweeper,
		       duration_format(heartbeat_age_ns(status)).text);
}

static void
print_huge_pages(const struct status *status)
{
	if (!status->has_huge_bytes)
		puts("huge_pages unknown");
	else if (status->huge_bytes > 0)
		printf("huge_pages %" PRIu64 " bytes\n", status->huge_bytes);
	else
		printf("huge_pages none%s\n", status->info.huge_pages ? ", though asked for" : "");
}

#define RESERVE_COLUMN 13

/* One limit that has keys without a slot. */
static void
print_counters(const struct status *status, const struct rl_overflow_info *info)
{
	uint64_t left_ns = info->until_ns - status->now_ns;
	char text[RL_NAME_MAX + 224];

	snprintf(text, sizeof(text),
	         "%s: %" PRIu32 " of %" PRIu32 " %s in use, %" PRIu32
	         " full, the fullest has %" PRIu32 " of %" PRIu32
	         ", for %s; of its keys without a slot %s are denied for what others have used",
	         limit_label(status->rl, info->rule, info->limit).text, info->cells_used,
	         info->cells, info->cells == 1 ? "overflow counter" : "overflow counters",
	         info->cells_full, info->used_most, info->capacity, duration_format(left_ns).text,
	         overflow_denied(info->denied_ppm).text);
	printf("%*s", RESERVE_COLUMN, "");
	print_wrapped(text, RESERVE_COLUMN);
}

static void
print_overflow(const struct status *status)
{
	const struct rl_info *info = &status->info;
	uint64_t until_ns = info->reserve_until_ns;

	if (info->reserves == 0)
		return;
	printf("reserve    %" PRIu32 " x %" PRIu32 " overflow counters, ", info->reserves,
	       info->cells);
	if (until_ns > status->now_ns)
		printf("in use for %s\n", duration_format(until_ns - status->now_ns).text);
	else
		puts("not in use");
	for (size_t i = 0; i < status->reserve.count; i++)
		print_counters(status, &status->reserve.limits[i]);
}

static void
print_lease(const struct lease_view *lease)
{
	if (!lease->is_clustered)
		return;
	printf("cluster    %" PRIu32 " host%s, ", lease->hosts, lease->hosts == 1 ? "" : "s");
	if (lease->left_ns > 0)
		printf("shares count for %s without news of the store\n",
		       duration_format(lease->left_ns).text);
	else
		puts("nothing is lent: limits go on as 'away' says");
}

static void
print_segment(const struct status *status)
{
	const struct rl_info *info = &status->info;
	uint64_t permille = fill_permille(status);

	printf("segment    %s\n", info->name);
	printf("layout     %" PRIu32 "\n", info->layout);
	printf("bytes      %" PRIu64 " (%s)\n", info->bytes, bytes_format(info->bytes).text);
	printf("keys       %" PRIu64 " find room\n", info->keys);
	printf("slots      %" PRIu64 "\n", info->slots);
	printf("fill       %" PRIu64 " (%" PRIu64 ".%" PRIu64 " %%)\n", status->fill, permille / 10,
	       permille % 10);
	if (info->slots_before > 0)
		printf("moving     keys come from a table of %" PRIu64 " slots\n",
		       info->slots_before);
	printf("ring       %" PRIu32, info->ring);
	if (info->ring_asked > info->ring)
		printf("; a definition was refused that needs %" PRIu32, info->ring_asked);
	putchar('\n');
	printf("key_bytes  %" PRIu32 "\n", info->key_bytes);
	printf("on_full    %s\n", on_full_name(info->on_full));
	print_overflow(status);
	print_huge_pages(status);
	printf("buffer     %s\n", duration_format(info->buffer_ns).text);
	printf("owner      %s\n", user_format(info->owner).text);
	printf("group      %s\n", group_format(info->group).text);
	printf("mode       %s\n", mode_format(info->mode).text);
	printf("created    %s UTC\n", time_format(info->created_ns, false).text);
	printf("config     generation %" PRIu64 "\n", info->generation);
	printf("rules      %" PRIu32 " of %" PRIu32 "\n", info->rules_used, info->rules);
	printf("limits     %" PRIu32 " of %" PRIu32 "\n", info->limits_used, info->limits);
	printf("overrides  %" PRIu64 " of %" PRIu32 "\n", info->overrides_used, info->overrides);
	printf("bans       %" PRIu64 ", room for at least %" PRIu32 "\n", status->bans, info->bans);
	printf("events     %" PRIu64 " told, the newest %" PRIu32 " kept, and %" PRIu32
	       " changes\n",
	       info->events_told, info->events, info->changes);
	printf("holders    %" PRIu32 " of %" PRIu32 "\n", info->holders_used, info->holders);
	print_sweeper(status);
	print_lease(&status->lease);
}

/* Where the last column of a table begins. */
#define NAME_COLUMN 57
#define LIMIT_COLUMN 5
#define TEXT_COLUMN 28

/* When it began, in the last hour. */
static void
print_history(const struct status *status, const struct rule_status *rule)
{
	struct history_view view;
	char *spark;

	history_view_read(status->rl, rule->id, status->now_ns, &view);
	if (view.minutes == 0 || rule->counters[RL_COUNT_denied] == 0)
		return;
	spark = history_view_spark(view.minute, view.minutes, view.minutes, true,
	                           sparkline_has_utf8());
	printf("  denied, 1h   |%s|\n", spark);
	free(spark);
}

static void
print_rule(const struct status *status, const struct rule_status *rule)
{
	printf("%-13s  %10" PRIu64 "  %10" PRIu64 "  %9" PRIu64 "  %5" PRIu64 "  ",
	       source_name(rule->info.source), rule->counters[RL_COUNT_allowed],
	       rule->counters[RL_COUNT_denied], rule->overrides, rule->bans);
	print_wrapped(rule->info.name, NAME_COLUMN);
	for (unsigned i = 0; i < rule->info.limit_count; i++) {
		printf("  %u  ", i + 1);
		print_wrapped(limit_format(&rule->info.limits[i]).text, LIMIT_COLUMN);
	}
	print_history(status, rule);
}

static void
print_rules(const struct status *status)
{
	if (status->rule_count == 0) {
		puts("\nno rules");
		return;
	}
	printf("\n%-13s  %10s  %10s  %9s  %5s  %s\n", "source", "allowed", "denied", "overrides",
	       "bans", "rule");
	for (size_t i = 0; i < status->rule_count; i++)
		print_rule(status, &status->rules[i]);
}

static bool
is_shown(size_t counter, uint64_t value)
{
	return value > 0 || counter == RL_COUNT_allowed || counter == RL_COUNT_denied;
}

static void
print_totals(const struct status *status)
{
	putchar('\n');
	for (size_t i = 0; i < RL_COUNTERS; i++)
		if (is_shown(i, status->totals[i])) {
			printf("%-14s  %10" PRIu64 "  ", rl_counter_info((int)i)->name,
			       status->totals[i]);
			print_wrapped(rl_counter_info((int)i)->text, TEXT_COLUMN);
		}
}

static json_t *
json_sweeper(const struct status *status)
{
	json_t *object;

	if (status->info.sweeper == 0)
		return json_null();
	object = need(json_object());
	json_put(object, "pid",
	         status->info.sweeper == RL_PID_ELSEWHERE
	                 ? json_null()
	                 : need(json_integer(status->info.sweeper)));
	json_put(object, "heartbeat_ns", json_count(status->info.heartbeat_ns));
	json_put(object, "heartbeat_age_ns", json_count(heartbeat_age_ns(status)));
	return object;
}

/* Of which options it is told how much is taken, too, by the option's own name. */
static bool
is_room(const struct rl_field *field)
{
	static const char *const names[] = {"rules", "overrides", "bans", "holders"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(field->name, names[i]) == 0)
			return true;
	return false;
}

/* How it was made, in the order of the list; 0 where it has none of it. */
static void
put_options(json_t *object, const struct rl_info *info)
{
	const struct rl_field *field;
	struct rl_options o;
	char name[64];

	rl_info_options(info, &o);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		snprintf(name, sizeof(name), "%s%s", field->name, is_room(field) ? "_room" : "");
		if (field->kind != RL_FIELD_OTHER)
			json_put(object, name, json_option(field, &o));
	}
}

static json_t *
json_segment(const struct status *status)
{
	const struct rl_info *info = &status->info;
	json_t *object = need(json_object());

	json_put(object, "name", json_text(info->name));
	json_put(object, "layout", json_count(info->layout));
	json_put(object, "bytes", json_count(info->bytes));
	put_options(object, info);
	json_put(object, "slots", json_count(info->slots));
	json_put(object, "slots_before", json_count(info->slots_before));
	json_put(object, "resized", json_count(info->table));
	json_put(object, "fill", json_count(status->fill));
	json_put(object, "fill_percent", json_count(fill_permille(status) / 10));
	json_put(object, "ring_asked", json_count(info->ring_asked));
	json_put(object, "reserve_until_ns", json_count(info->reserve_until_ns));
	json_put(object, "reserve", overflow_view_json(status->rl, &status->reserve));
	json_put(object, "huge_pages", json_boolean(info->huge_pages));
	json_put(object, "huge_bytes",
	         status->has_huge_bytes ? json_count(status->huge_bytes) : json_null());
	json_put(object, "owner", json_text(user_format(info->owner).text));
	json_put(object, "group", json_text(group_format(info->group).text));
	json_put(object, "mode", json_text(mode_format(info->mode).text));
	json_put(object, "created_ns", json_count(info->created_ns));
	json_put(object, "generation", json_count(info->generation));
	json_put(object, "rules", json_count(info->rules_used));
	json_put(object, "limits", json_count(info->limits_used));
	json_put(object, "limits_room", json_count(info->limits));
	json_put(object, "overrides", json_count(info->overrides_used));
	json_put(object, "bans", json_count(status->bans));
	json_put(object, "events_told", json_count(info->events_told & INT64_MAX));
	json_put(object, "holders", json_count(info->holders_used));
	json_put(object, "sweeper", json_sweeper(status));
	json_put(object, "cluster", lease_view_json(&status->lease));
	return object;
}

static json_t *
json_rule(const struct rule_status *rule)
{
	json_t *object = need(json_object());
	json_t *limits = need(json_array());

	json_put(object, "rule", json_text(rule->info.name));
	json_put(object, "source", json_text(source_name(rule->info.source)));
	json_put(object, "limits", limits);
	for (unsigned i = 0; i < rule->info.limit_count; i++)
		json_push(limits, json_limit(&rule->info.limits[i]));
	json_put(object, "overrides", json_count(rule->overrides));
	json_put(object, "bans", json_count(rule->bans));
	json_put(object, "allowed", json_count(rule->counters[RL_COUNT_allowed]));
	json_put(object, "denied", json_count(rule->counters[RL_COUNT_denied]));
	return object;
}

static json_t *
json_rules(const struct status *status)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < status->rule_count; i++)
		json_push(array, json_rule(&status->rules[i]));
	return array;
}

static void
write_json(const struct status *status)
{
	json_t *root = need(json_object());

	json_put(root, "segment", json_segment(status));
	json_put(root, "rules", json_rules(status));
	json_put(root, "counters", counts_json(status->totals));
	output_json(root);
}

static void
write_text(const struct status *status)
{
	print_segment(status);
	print_rules(status);
	print_totals(status);
}

static int
show(const struct context *context)
{
	struct rl *rl = open_segment(context);
	struct status status;

	if (!rl)
		return EXIT_TROUBLE;
	collect(&status, rl);
	if (option_value(context, "json"))
		write_json(&status);
	else
		write_text(&status);
	overflow_view_free(&status.reserve);
	free(status.rules);
	return EXIT_YES;
}

int
run_status(const struct context *context)
{
	return watch_run(context, show);
}
