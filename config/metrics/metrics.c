/* SPDX-License-Identifier: BSD-2-Clause */
#include "metrics/metrics.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdlib.h>

#include "metrics/in_flight.h"
#include "metrics/limits.h"
#include "metrics/room.h"

/* A rule and what it has counted, read once: every family shows the same instant. */
struct row {
	char name[RL_NAME_MAX + 1];
	uint64_t counters[RL_COUNTERS];
};

struct rows {
	struct row *row;
	size_t count;
	uint64_t age_ns; /* of the segment */
	uint64_t damaged;
};

static void
write_build(FILE *to, const struct rl_info *info)
{
	metrics_family(to, "rl_build_info", METRICS_GAUGE, "Version of rl, and of the segment.");
	fputs("rl_build_info{segment=\"", to);
	metrics_escape(to, info->name);
	fprintf(to, "\",version=\"" RL_VERSION "\",layout=\"%" PRIu32 "\"} 1\n", info->layout);
}

static void
write_fill(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t used)
{
	/* Parts of a million, so that no locale has a say in the point. */
	uint64_t millionths = info->slots > 0 ? used * 1000000 / info->slots : 0;

	metrics_number(to, rl, "rl_slots", METRICS_GAUGE, "Places for keys.", info->slots);
	metrics_number(to, rl, "rl_slots_taken", METRICS_GAUGE, "Slots that a key uses.", used);
	metrics_begin(to, rl, "rl_fill_ratio", METRICS_GAUGE,
	              "Share of the slots that are used: 0.6 by as many keys as were asked for; "
	              "above 0.75 keys begin to find none.");
	fprintf(to, "%" PRIu64 ".%06" PRIu64 "\n", millionths / 1000000, millionths % 1000000);
}

static void
write_sweeper(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	uint64_t beat = info->heartbeat_ns;

	metrics_number(to, rl, "rl_sweeper_present", METRICS_GAUGE,
	               "Whether a sweeper has come and not ended as it should.",
	               info->sweeper != 0);
	if (beat == 0)
		return; /* there never was one: no age */
	metrics_duration(to, rl, "rl_sweeper_heartbeat_age_seconds", METRICS_GAUGE,
	                 "Time since the sweeper last said that it lives.",
	                 now_ns > beat ? now_ns - beat : 0);
}

static int
count_ban(const struct rl_ban_info *ban, void *arg)
{
	(void)ban;
	++*(uint64_t *)arg;
	return 0;
}

static uint64_t
age_of(const struct rl_info *info, uint64_t now_ns)
{
	return now_ns > info->created_ns ? now_ns - info->created_ns : 0;
}

/* How full what the segment was created with is. */
static void
write_room(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	uint64_t bans = 0, overrides = 0;

	rl_bans_walk(rl, now_ns, count_ban, &bans);
	rl_overrides_walk(rl, now_ns, count_ban, &overrides);
	metrics_number(to, rl, "rl_rules_limit", METRICS_GAUGE, "Rules that can be defined.",
	               info->rules);
	metrics_number(to, rl, "rl_limits", METRICS_GAUGE,
	               "Limits in force, or as applications define them.", info->limits_used);
	metrics_number(to, rl, "rl_limits_limit", METRICS_GAUGE, "Limits that there is room for.",
	               info->limits);
	metrics_number(to, rl, "rl_overrides", METRICS_GAUGE, "Overrides that are configured.",
	               info->overrides_used);
	metrics_number(to, rl, "rl_overrides_limit", METRICS_GAUGE,
	               "Overrides that there is room for.", info->overrides);
	metrics_number(to, rl, "rl_bans", METRICS_GAUGE, "Bans and exemptions in force.", bans);
	metrics_number(to, rl, "rl_bans_limit", METRICS_GAUGE,
	               "Bans, exemptions and limits of keys for a time that there is room for.",
	               info->bans);
	metrics_number(to, rl, "rl_timed_overrides", METRICS_GAUGE,
	               "Limits that keys have for a time.", overrides);
	if (metrics_can_be(info->events_told, age_of(info, now_ns)))
		metrics_number(to, rl, "rl_events_total", METRICS_COUNTER,
		               "Events that were told, for 'rlctl log'.", info->events_told);
	metrics_number(to, rl, "rl_events_limit", METRICS_GAUGE,
	               "Events that are kept, the newest ones.", info->events);
}

static void
write_segment(FILE *to, struct rl *rl, uint64_t now_ns, uint64_t used, size_t rules)
{
	struct rl_info info;

	rl_info(rl, &info);
	write_build(to, &info);
	metrics_number(to, rl, "rl_segment_bytes", METRICS_GAUGE, "Size of the segment.",
	               info.bytes);
	metrics_duration(to, rl, "rl_segment_created_timestamp_seconds", METRICS_GAUGE,
	                 "When the segment was created, Unix time.", info.created_ns);
	metrics_number(to, rl, "rl_config_generation", METRICS_GAUGE,
	               "How often the configuration has changed.", info.generation);
	metrics_number(to, rl, "rl_rules", METRICS_GAUGE, "Rules that are defined.", rules);
	write_room(to, rl, &info, now_ns);
	write_fill(to, rl, &info, used);
	write_sweeper(to, rl, &info, now_ns);
}

static void
write_counter(FILE *to, const char *segment, struct rows *rows, int counter)
{
	const struct rl_counter_info *info = rl_counter_info(counter);
	char name[80];

	if (!info)
		return;
	snprintf(name, sizeof name, "rl_%s_total", info->name);
	metrics_family(to, name, METRICS_COUNTER, info->text);
	for (size_t i = 0; i < rows->count; i++) {
		if (!metrics_can_be(rows->row[i].counters[counter], rows->age_ns)) {
			rows->damaged++;
			continue;
		}
		fprintf(to, "%s{segment=\"", name);
		metrics_escape(to, segment);
		fputs("\",rule=\"", to);
		metrics_escape(to, rows->row[i].name);
		fprintf(to, "\"} %" PRIu64 "\n", rows->row[i].counters[counter]);
	}
}

/* A rule whose name is damaged, or not there yet, is shown by its row. False: it is gone. */
static bool
read_row(struct rl *rl, int id, const struct rl_rule_info *rule, struct row *row)
{
	if (rule->name[0])
		snprintf(row->name, sizeof row->name, "%s", rule->name);
	else
		snprintf(row->name, sizeof row->name, "#%d", id);
	return rl_stats(rl, rule->handle, row->counters, RL_COUNTERS) == 0;
}

static int
read_rows(struct rl *rl, uint32_t rules, struct rows *rows)
{
	struct rl_rule_info rule;

	*rows = (struct rows){.row = calloc(rules, sizeof *rows->row)};
	if (!rows->row)
		return -ENOMEM;
	for (uint32_t id = 0; id < rules; id++)
		if (rl_rule_info(rl, (int)id, &rule) == 1)
			rows->count += read_row(rl, (int)id, &rule, &rows->row[rows->count]);
	return 0;
}

int
metrics_write_filled(FILE *to, struct rl *rl, uint64_t now_ns, uint64_t used)
{
	struct rl_info info;
	struct rows rows;
	int error;

	rl_info(rl, &info);
	error = read_rows(rl, info.rules, &rows);
	if (error < 0)
		return error;
	rows.age_ns = age_of(&info, now_ns);
	write_segment(to, rl, now_ns, used, rows.count);
	for (int counter = 0; counter < RL_COUNTERS; counter++)
		write_counter(to, info.name, &rows, counter);
	metrics_number(to, rl, "rl_counters_damaged", METRICS_GAUGE,
	               "Counters that show what cannot have happened, and are left out.",
	               rows.damaged);
	free(rows.row);
	error = metrics_write_limits(to, rl, &info, now_ns);
	if (error == 0)
		error = metrics_write_shares(to, rl, &info, now_ns);
	if (error == 0)
		error = metrics_write_reserve(to, rl, &info, now_ns);
	return error < 0 ? error : metrics_write_in_flight(to, rl, &info, now_ns);
}

int
metrics_write(FILE *to, struct rl *rl, uint64_t now_ns)
{
	return metrics_write_filled(to, rl, now_ns, rl_fill(rl));
}
