/* SPDX-License-Identifier: BSD-2-Clause */

#include "model/auto_ban.h"

#include <inttypes.h>
#include <stdio.h>

#include "read/report.h"
#include "text/duration.h"

enum ban_id {
	BAN_AFTER,
	BAN_WITHIN,
	BAN_FOR,
	BAN_LONGER,
	BAN_AT_MOST,
	BAN_IDS
};

static const struct field ban_fields[] = {
	{"after", read_count, BAN_AFTER, 1, RL_AUTO_AFTER_MAX, NULL},
	{"within", read_duration, BAN_WITHIN, RL_SECOND, RL_WINDOW_MAX, NULL},
	{"for", read_duration, BAN_FOR, RL_MILLISECOND, RL_WINDOW_MAX, NULL},
	{"longer", read_count, BAN_LONGER, 1, RL_AUTO_LONGER_MAX, NULL},
	{"at_most", read_duration, BAN_AT_MOST, RL_MILLISECOND, RL_WINDOW_MAX, NULL},
	{0},
};

static bool
has_needed(struct reader *reader, struct node object, const struct value *v)
{
	static const enum ban_id needed[] = {BAN_AFTER, BAN_WITHIN, BAN_FOR};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!v[needed[i]].token) {
			report_value(
				reader->report, CONFIG_ERROR, object.token,
				"says no \"%s\": how often a key is denied, within how long, and "
				"for how long it is banned then",
				ban_fields[needed[i]].name);
			return false;
		}
	return true;
}

/* Without at_most, one that does not grow has its own length, and one that does a week. */
static uint64_t
at_most(const struct value *v)
{
	const uint64_t week_ns = 7 * 24 * 3600 * RL_SECOND;
	uint64_t for_ns = v[BAN_FOR].number;

	if (v[BAN_AT_MOST].token)
		return v[BAN_AT_MOST].number;
	return v[BAN_LONGER].number > 1 && for_ns < week_ns ? week_ns : for_ns;
}

void
read_auto_ban(struct reader *reader, struct node object, struct rl_auto_ban *ban)
{
	static const struct field *const tables[] = {ban_fields, NULL};
	struct value v[BAN_IDS] = {0};
	size_t errors = reader->report->errors;

	read_fields(reader, object, tables, v);
	if (reader->report->errors > errors || !has_needed(reader, object, v))
		return;
	if (at_most(v) < v[BAN_FOR].number) {
		report_value(reader->report, CONFIG_ERROR, v[BAN_AT_MOST].token,
		             "is less than \"for\", the length of the first ban");
		return;
	}
	*ban = (struct rl_auto_ban){
		.after = (uint32_t)v[BAN_AFTER].number,
		.longer = v[BAN_LONGER].token ? (uint32_t)v[BAN_LONGER].number : 1,
		.within_ns = v[BAN_WITHIN].number,
		.for_ns = v[BAN_FOR].number,
		.at_most_ns = at_most(v),
	};
}

struct auto_ban_text
auto_ban_format(const struct rl_auto_ban *ban)
{
	struct auto_ban_text out;
	int used = snprintf(out.text, sizeof(out.text), "%" PRIu32 " denials in %s ban for %s",
	                    ban->after, duration_exact(ban->within_ns).text,
	                    duration_exact(ban->for_ns).text);

	if (ban->longer > 1)
		snprintf(out.text + used, sizeof(out.text) - (size_t)used,
		         ", each time %" PRIu32 " times as long, at most %s", ban->longer,
		         duration_exact(ban->at_most_ns).text);
	return out;
}
