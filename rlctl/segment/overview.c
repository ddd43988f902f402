/* SPDX-License-Identifier: BSD-2-Clause */

#include "segment/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/colour.h"
#include "base/command.h"
#include "base/rate.h"
#include "base/width.h"
#include "text/duration.h"

#define NAME_COLUMNS 14
#define OVERVIEW_RULES 5 /* of each segment, where nobody asked for more */

/*
 * A name that is longer is cut; one that is shorter is followed by blanks, if anything is to
 * follow.
 */
static void
print_name(const char *name, bool is_last)
{
	char text[RL_NAME_MAX + ELLIPSIS_ROOM];
	size_t columns;

	snprintf(text, sizeof(text), "%s", name);
	text_cut(text, NAME_COLUMNS);
	columns = text_columns(text);
	printf("%s%*s", text,
	       is_last || columns >= NAME_COLUMNS ? 0 : (int)(NAME_COLUMNS - columns), "");
}

static void
print_health(const struct segment_view *segment)
{
	enum colour colour = segment->health == SEGMENT_OK     ? COLOUR_PLAIN
	                     : segment->health == SEGMENT_FULL ? COLOUR_LIMITED
	                                                       : COLOUR_BANNED;

	printf("  %s%s%s\n", colour_begin(colour), segment_health_name(segment->health),
	       colour_end(colour));
}

static void
print_segment(const struct segment_view *segment)
{
	const struct rl_info *info = &segment->info;
	uint64_t rate, span_ns, denied = segment_denied(segment, &rate, &span_ns);
	uint64_t permille = info->slots ? segment->fill * 1000 / info->slots : 0;
	uint64_t age_ns =
		segment->now_ns > info->created_ns ? segment->now_ns - info->created_ns : 0;

	print_name(segment->name, false);
	if (segment->error < 0) {
		printf("  %s%s%s\n", colour_begin(COLOUR_BANNED), rl_strerror(segment->error),
		       colour_end(COLOUR_BANNED));
		return;
	}
	printf(" %9" PRIu64 "  %3" PRIu64 ".%" PRIu64 "%% %10" PRIu64 "  %7s  %7s  %7s",
	       segment->fill, permille / 10, permille % 10, denied, rate_format(rate, span_ns).text,
	       info->sweeper != 0 ? duration_format(segment->heartbeat_ns).text : "none",
	       duration_format(age_ns).text);
	print_health(segment);
}

static int
compare_denied(const void *left, const void *right)
{
	const struct rule_counts *a = left, *b = right;
	uint64_t x = a->values[RL_COUNT_denied], y = b->values[RL_COUNT_denied];

	return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

static void
print_rules(const struct segment_view *segment, size_t most)
{
	const struct counts *counts = &segment->counts;
	uint64_t span_ns = counts->at_ns - segment->before.at_ns, since[RL_COUNTERS];

	if (counts->count > 0)
		qsort(counts->rules, counts->count, sizeof(*counts->rules), compare_denied);
	for (size_t i = 0; i < counts->count && i < most; i++) {
		const struct rule_counts *rule = &counts->rules[i];

		counts_since(rule, &segment->before, since);
		printf("  %10" PRIu64 " allowed  %7s  %10" PRIu64 " denied  %7s  ",
		       rule->values[RL_COUNT_allowed],
		       rate_format(since[RL_COUNT_allowed], span_ns).text,
		       rule->values[RL_COUNT_denied],
		       rate_format(since[RL_COUNT_denied], span_ns).text);
		print_name(rule->name, true);
		putchar('\n');
	}
	if (most > 0 && counts->count > most)
		printf("  and %zu more rules\n", counts->count - most);
}

void
overview_print(const struct segments_view *view, bool has_head, size_t most_rules)
{
	if (has_head && view->count > 0)
		printf("%-*s %9s  %6s %10s  %7s  %7s  %7s  %s\n", NAME_COLUMNS, "segment", "keys",
		       "fill", "denied", "now", "rld", "age", "health");
	for (size_t i = 0; i < view->count; i++) {
		print_segment(&view->at[i]);
		print_rules(&view->at[i], most_rules);
	}
}

int
overview(void)
{
	struct segments_view view = segments_view_read();
	bool is_none = view.count == 0;

	overview_print(&view, true, OVERVIEW_RULES);
	if (is_none)
		complain("there is no segment on this host; a worker or rld makes one; see "
		         "'rlctl help'");
	segments_view_free(&view);
	return is_none ? EXIT_NO : EXIT_YES;
}
