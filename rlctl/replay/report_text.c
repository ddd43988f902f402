/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/limit_view.h"
#include "base/output.h"
#include "replay/local_time.h"
#include "replay/report.h"
#include "replay/tally.h"
#include "text/duration.h"

static void
row(const char *name, uint64_t value)
{
	printf("%-12s  %" PRIu64 "\n", name, value);
}

static void
row_if(const char *name, uint64_t value)
{
	if (value > 0)
		row(name, value);
}

static void
fingerprint_key(const struct name *name)
{
	const struct key_view view = {.bytes = name->bytes, .kept = name->len, .len = name->len};

	output_key(stdout, &view);
}

static void
print_understood(const struct report_of *report)
{
	const struct names *names = &report->events->names;

	if (report->intake->format[0])
		printf("format        %s\n", report->intake->format);
	if (names->count == 0)
		return;
	printf("key           ");
	output_bytes(stdout, report->intake->ask->key_text, strlen(report->intake->ask->key_text));
	for (uint32_t i = 0; i < names->count && i < EXAMPLES; i++) {
		fputs(i == 0 ? ", such as " : ", ", stdout);
		fingerprint_key(names_at(names, i));
	}
	putchar('\n');
}

static void
print_span(const struct report_of *report)
{
	const struct events *events = report->events;
	const char *zone = report->is_local ? "" : " UTC";

	if (events->count == 0)
		return;
	printf("first         %s%s\n", local_format(events->first_ns, 0, report->is_local).text,
	       zone);
	printf("last          %s%s\n", local_format(events->last_ns, 0, report->is_local).text,
	       zone);
}

void
report_print_intake(const struct report_of *report)
{
	const struct intake *intake = report->intake;

	print_understood(report);
	row("requests", report->events->count);
	row("keys", report->events->names.count);
	row("unreadable", intake->unreadable);
	row_if("other", intake->other);
	row_if("filtered", intake->filtered);
	row_if("without_key", intake->without_key);
	row("out_of_order", report->events->out_of_order);
	if (report->events->out_of_order > 0)
		printf("step_back     %s, %s\n", duration_format(report->events->step_back_ns).text,
		       report->is_as_is ? "decided as it came" : "put in order");
	row_if("late", report->late);
	print_span(report);
}

static void
print_delays(const struct candidate *candidate)
{
	if (candidate->delayed == 0)
		return;
	printf("delayed       %" PRIu64 ", %s on average, %s at most\n", candidate->delayed,
	       duration_format(candidate->delay_ns / candidate->delayed).text,
	       duration_format(candidate->delay_most_ns).text);
}

static void
print_settled(const struct candidate *c)
{
	if (c->settle_charged == 0)
		return;
	printf("settled       %" PRIu64 " of %" PRIu64 " charged: %" PRIu64 " given back, %" PRIu64
	       " of debts, %" PRIu64 " too late\n",
	       c->settle_charged - c->settle_given + c->settle_debt, c->settle_charged,
	       c->settle_given, c->settle_debt, c->settle_late);
}

static void
print_limits(const struct candidate *candidate)
{
	size_t count = candidate_limits(candidate);

	for (size_t i = 0; i < count; i++) {
		printf("limit         %s", limit_format(candidate_limit(candidate, i)).text);
		if (count > 1)
			printf(": denied %" PRIu64, candidate->denied_by[i]);
		putchar('\n');
	}
	if (candidate->rule->override_count > 0)
		printf("overrides     %zu\n", candidate->rule->override_count);
}

static void
print_totals(const struct candidate *candidate)
{
	row("admitted", candidate->admitted);
	row("denied", candidate->denied);
	row("keys_denied", candidate->keys_denied);
	row_if("undecided", candidate->undecided);
	row_if("banned", candidate->banned);
	row_if("exempt", candidate->exempt);
	row_if("shadow_denied", candidate->shadow_denied);
	print_delays(candidate);
	print_settled(candidate);
	printf("table         %s\n", bytes_format(candidate->table_bytes).text);
}

static double
percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* Side by side, the first being what the others are compared with. */
static void
print_candidates(const struct report_of *report)
{
	printf("\n%-4s%10s  %7s  %10s  %10s  %10s  %s\n", "", "denied", "%", "keys", "not by #1",
	       "only by #1", "limit");
	for (size_t i = 0; i < report->candidate_count; i++) {
		const struct candidate *c = &report->candidates[i];

		printf("#%-3zu%10" PRIu64 "  %7.3f  %10" PRIu64 "  %10" PRIu64 "  %10" PRIu64 "  ",
		       i + 1, c->denied, percent(c->denied, report->events->count), c->keys_denied,
		       c->denied_more, c->denied_less);
		output_bytes(stdout, c->label, strlen(c->label));
		putchar('\n');
	}
	for (size_t i = 0; i < report->candidate_count; i++) {
		printf("\n#%zu\n", i + 1);
		print_limits(&report->candidates[i]);
		print_totals(&report->candidates[i]);
	}
}

static void
print_top_row(const struct report_of *report, uint32_t key)
{
	const struct name *name = names_at(&report->events->names, key);
	const struct denied_key *denied = NULL;

	for (size_t i = 0; i < report->candidate_count; i++) {
		denied = tally_of(&report->candidates[i], key);
		printf("%10" PRIu32 "  ", denied ? denied->denied : 0);
	}
	printf("%10" PRIu32 "  ", name->requests);
	if (report->candidate_count == 1)
		printf("%10s  ", duration_format(denied->denied_ns).text);
	fingerprint_key(name);
	putchar('\n');
}

static void
print_top(const struct report_of *report)
{
	size_t count;
	uint32_t *top = report_top(report, &count);

	if (report->top > 0) {
		puts("\nmost limited");
		if (report->candidate_count == 1)
			printf("%10s  %10s  %10s  %s\n", "denied", "requests", "for", "key");
		for (size_t i = 0; report->candidate_count > 1 && i < report->candidate_count; i++)
			printf("%9s%zu  ", "denied #", i + 1);
		if (report->candidate_count > 1)
			printf("%10s  %s\n", "requests", "key");
	}
	for (size_t i = 0; i < count; i++)
		print_top_row(report, top[i]);
	free(top);
}

static void
print_chart(const struct report_of *report)
{
	const struct chart *charts[CANDIDATES_MAX];

	for (size_t i = 0; i < report->candidate_count; i++)
		charts[i] = &report->candidates[i].chart;
	if (charts[0]->count > 0)
		chart_print(charts, report->candidate_count, report->is_local);
}

void
report_text(const struct report_of *report)
{
	if (report->candidate_count == 1)
		print_limits(&report->candidates[0]);
	report_print_intake(report);
	if (report->candidate_count == 1)
		print_totals(&report->candidates[0]);
	else
		print_candidates(report);
	print_top(report);
	print_chart(report);
}
