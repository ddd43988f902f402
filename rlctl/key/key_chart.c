/* SPDX-License-Identifier: BSD-2-Clause */

#include "key/key_chart.h"

#include <inttypes.h>

#include "base/output.h"
#include "text/duration.h"
#include "text/names.h"

#define BAR_WIDTH 38
#define BUCKET_WIDTH 28 /* with what stands before and behind it, 80 */
#define FOLD_LEAST 2    /* empty sub-buckets in a row that are one line */
#define TIMES_MAX 12    /* times of a log that are told one by one */

uint64_t
bucket_start_ns(const struct rl_entry *entry, uint32_t bucket)
{
	return entry->bucket_end_ns - entry->bucket_ns * (bucket + UINT64_C(1));
}

/* A fixed window has one bucket and nothing that leaves it by and by. */
bool
bucket_is_leaving(const struct rl_entry *entry, uint32_t bucket)
{
	return entry->buckets > 1 && bucket == entry->buckets - 1;
}

static uint32_t
largest_bucket(const struct rl_entry *entry)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < entry->buckets; i++)
		if (entry->bucket[i] > most)
			most = entry->bucket[i];
	return most;
}

static void
print_bucket(FILE *out, const struct rl_entry *entry, uint32_t bucket)
{
	bool has_ms = entry->bucket_ns % RL_SECOND != 0;

	fprintf(out, "%-23s  %10" PRIu32 "  ",
	        time_format(bucket_start_ns(entry, bucket), has_ms).text, entry->bucket[bucket]);
	output_bar(out, entry->bucket[bucket], largest_bucket(entry), BUCKET_WIDTH);
	fputs(bucket_is_leaving(entry, bucket) ? "  (partly out)\n" : "\n", out);
}

/* How many from this one on are empty, but for the last, of which more is to be said. */
static uint32_t
empty_from(const struct rl_entry *entry, uint32_t bucket)
{
	uint32_t end = bucket;

	while (end + 1 < entry->buckets && entry->bucket[end] == 0)
		end++;
	return end - bucket;
}

static void
print_buckets(FILE *out, const struct rl_entry *entry, bool is_whole)
{
	if (entry->buckets == 1)
		fprintf(out, "since the window began (UTC)\n");
	else
		fprintf(out, "sub-buckets of %s, newest first (UTC)\n",
		        duration_format(entry->bucket_ns).text);
	for (uint32_t i = 0; i < entry->buckets;) {
		uint32_t empty = is_whole ? 0 : empty_from(entry, i);

		if (empty < FOLD_LEAST) {
			print_bucket(out, entry, i++);
			continue;
		}
		fprintf(out, "%" PRIu32 " empty\n", empty);
		i += empty;
	}
}

/* Where in a strip of BAR_WIDTH columns, the window from its oldest instant to now, a time is. */
static size_t
strip_column(uint64_t at_ns, uint64_t window_ns, uint64_t now_ns)
{
	uint64_t age_ns = now_ns > at_ns ? now_ns - at_ns : 0;
	uint64_t column = BAR_WIDTH - 1;

	if (age_ns >= window_ns)
		return 0;
	return (size_t)(column - age_ns / (window_ns / BAR_WIDTH + 1));
}

/* A digit for each column that says how many, + for more than 9. */
static void
print_strip(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry, uint64_t now_ns)
{
	uint64_t columns[BAR_WIDTH] = {0};

	for (size_t i = 0; i < entry->charge_entries; i++)
		columns[strip_column(entry->charge_entry[i].at_ns, limit->window_ns, now_ns)] +=
			entry->charge_entry[i].cost;
	fprintf(out, "%s ago |", duration_format(limit->window_ns).text);
	for (size_t i = 0; i < BAR_WIDTH; i++)
		putc(columns[i] == 0 ? '.' : columns[i] > 9 ? '+' : (int)('0' + columns[i]), out);
	fputs("| now\n", out);
}

static void
print_moment(FILE *out, const struct rl_charge_entry *moment, uint64_t window_ns, uint64_t now_ns)
{
	uint64_t end_ns = moment->at_ns + window_ns;

	fprintf(out, "%-23s  %10" PRIu64 "  frees up in %s\n",
	        time_format(moment->at_ns, true).text, moment->cost,
	        duration_format(end_ns > now_ns ? end_ns - now_ns : 0).text);
}

static void
print_log(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry, uint64_t now_ns)
{
	size_t shown = entry->charge_entries < TIMES_MAX ? entry->charge_entries : TIMES_MAX;

	print_strip(out, limit, entry, now_ns);
	fputs("times of the log, oldest first (UTC)\n", out);
	for (size_t i = 0; i < shown; i++)
		print_moment(out, &entry->charge_entry[i], limit->window_ns, now_ns);
	if (shown < entry->charge_entries)
		fprintf(out, "and %zu more\n", entry->charge_entries - shown);
}

/* "[####    ] 3 of 5". */
static void
print_gauge(FILE *out, const char *what, uint64_t value, uint64_t most)
{
	uint64_t columns = most ? value * BAR_WIDTH / most : 0;

	fprintf(out, "%-12s [", what);
	for (uint64_t i = 0; i < BAR_WIDTH; i++)
		putc(i < columns ? '#' : ' ', out);
	fprintf(out, "] %" PRIu64 " of %" PRIu64 "\n", value, most);
}

/* Between one token, or one leak, and the next. */
static struct duration_text
step_of(const struct rl_limit *limit)
{
	return duration_format(limit->capacity ? limit->window_ns / limit->capacity : RL_NEVER_NS);
}

static void
print_tokens(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry)
{
	print_gauge(out, "tokens", entry->peek.remaining, entry->peek.limit);
	fprintf(out, "one more comes every %s; full in %s\n", step_of(limit).text,
	        duration_format(entry->peek.reset_after_ns).text);
}

static void
print_queue(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry)
{
	print_gauge(out, "queue", entry->used, entry->peek.limit);
	fprintf(out, "one leaks every %s; empty in %s\n", step_of(limit).text,
	        duration_format(entry->peek.reset_after_ns).text);
}

void
key_chart_print(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry,
                uint64_t now_ns, bool is_whole)
{
	const struct rl_algorithm_info *info = algorithm_info(limit->algorithm);

	if (info->flags & RL_IS_HELD)
		print_gauge(out, "in flight", entry->used, entry->peek.limit);
	else if (info->flags & RL_IS_WINDOW)
		print_buckets(out, entry, is_whole);
	else if (info->ring_per_unit > 0)
		print_log(out, limit, entry, now_ns);
	else if (info->flags & RL_HAS_UNDELAYED)
		print_queue(out, limit, entry);
	else if (info->flags & RL_IS_BUCKET)
		print_tokens(out, limit, entry);
}
