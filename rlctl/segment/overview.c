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
#define RULE_NAME_COLUMNS 20
#define OVERVIEW_LINES 22 /* of a screen, with room for what is typed next */
#define OVERVIEW_RULES 5  /* of each segment, where nobody asked for more and there is room */

/*
 * On a terminal a name that is longer is cut in its middle, for what tells it from others stands
 * at its end as often; a pipe gets all of it.
 */
static void
print_name(const char *name, size_t most)
{
	size_t len = strlen(name), end = most / 2;

	if (terminal_columns() == 0 || len <= most)
		fputs(name, stdout);
	else
		printf("%.*s…%s", (int)(most - 1 - end), name, name + len - end);
}

/* How wide the column of names is. */
static size_t
name_columns(const struct segments_view *view)
{
	size_t most = NAME_COLUMNS;

	for (size_t i = 0; i < view->count && terminal_columns() == 0; i++)
		if (strlen(view->at[i].name) > most)
			most = strlen(view->at[i].name);
	return most;
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
print_segment(const struct segment_view *segment, size_t columns)
{
	const struct rl_info *info = &segment->info;
	uint64_t rate, span_ns, denied = segment_denied(segment, &rate, &span_ns);
	uint64_t permille = info->slots ? segment->fill * 1000 / info->slots : 0;
	uint64_t age_ns =
		segment->now_ns > info->created_ns ? segment->now_ns - info->created_ns : 0;

	print_name(segment->name, columns);
	if (strlen(segment->name) < columns)
		printf("%*s", (int)(columns - strlen(segment->name)), "");
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
		print_name(rule->name, RULE_NAME_COLUMNS);
		putchar('\n');
	}
	if (most > 0 && counts->count > most)
		printf("  and %zu more rules\n", counts->count - most);
}

static void
print_head(size_t columns)
{
	printf("%-*s %9s  %6s %10s  %7s  %7s  %7s  %s\n", (int)columns, "segment", "keys", "fill",
	       "denied", "now", "rld", "age", "health");
}

void
overview_print(const struct segments_view *view, bool has_head, size_t most_rules)
{
	size_t columns = name_columns(view);

	if (has_head && view->count > 0)
		print_head(columns);
	for (size_t i = 0; i < view->count; i++) {
		print_segment(&view->at[i], columns);
		print_rules(&view->at[i], most_rules);
	}
}

/* Who denies most now comes first. */
static int
compare_rate(const void *left, const void *right)
{
	const struct segment_view *a = left, *b = right;
	uint64_t span_ns, x, y, all_x = segment_denied(a, &x, &span_ns),
				all_y = segment_denied(b, &y, &span_ns);

	if (x != y)
		return (x < y) - (x > y);
	return all_x != all_y ? (all_x < all_y) - (all_x > all_y) : strcmp(a->name, b->name);
}

/* The lines of a segment with its rules, and one that says how many more there are. */
static size_t
lines_of(const struct segment_view *segment, size_t most_rules)
{
	size_t count = segment->counts.count;

	return 1 + (count > most_rules ? most_rules + (most_rules > 0) : count);
}

/* As many rules of each as leave them all on a screen. */
static size_t
rules_that_fit(const struct segments_view *view)
{
	size_t most = OVERVIEW_RULES + 1, lines = OVERVIEW_LINES + 1;

	while (most > 0 && lines > OVERVIEW_LINES) {
		most--;
		lines = 1;
		for (size_t i = 0; i < view->count; i++)
			lines += lines_of(&view->at[i], most);
	}
	return most;
}

static void
print_screen(struct segments_view *view)
{
	struct segments_view shown = *view;

	qsort(view->at, view->count, sizeof(*view->at), compare_rate);
	if (view->count + 1 > OVERVIEW_LINES)
		shown.count = OVERVIEW_LINES - 2;
	overview_print(&shown, true, rules_that_fit(view));
	if (shown.count < view->count)
		printf("and %zu more that deny less: see 'rlctl segments'\n",
		       view->count - shown.count);
}

int
overview(bool is_json)
{
	struct segments_view view = segments_view_read();
	bool is_none = view.count == 0;

	if (is_json)
		output_json(segments_view_json(&view));
	else if (is_none)
		complain("there is no segment on this host; a worker or rld makes one; see "
		         "'rlctl help'");
	else
		print_screen(&view);
	segments_view_free(&view);
	return is_none ? EXIT_NO : EXIT_YES;
}
