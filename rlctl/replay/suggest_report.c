/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/suggest_report.h"
#include "base/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/busiest.h"
#include "replay/local_time.h"
#include "text/duration.h"

#define WHOLE 10000 /* a share is so many hundredths of a percent */

static const unsigned shares[] = {5000, 9000, 9900, 9990, 9999, WHOLE};
#define SHARES (sizeof(shares) / sizeof(shares[0]))

/* One line about a share. */
struct suggestion {
	unsigned share;
	uint64_t capacity;
	struct busiest_denied denied;
};

struct suggestions {
	const struct report_of *report;
	struct busiest busiest;
	size_t keys;
	struct suggestion of[SHARES];
	uint32_t *heaviest;
	size_t heaviest_count;
};

static int
compare_most(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The smallest capacity that is enough for such a share of the keys. */
static uint64_t
quantile(const uint64_t *sorted, size_t count, unsigned share)
{
	size_t enough = (count * share + WHOLE - 1) / WHOLE;

	return sorted[enough > 0 ? enough - 1 : 0];
}

static void
find_shares(struct suggestions *s)
{
	uint64_t *sorted = need(reallocarray(NULL, s->keys, sizeof(*sorted)));

	memcpy(sorted, s->busiest.most, s->keys * sizeof(*sorted));
	qsort(sorted, s->keys, sizeof(*sorted), compare_most);
	for (size_t i = 0; i < SHARES; i++) {
		uint64_t capacity = quantile(sorted, s->keys, shares[i]);
		bool is_same = i > 0 && s->of[i - 1].capacity == capacity;

		s->of[i] = (struct suggestion){shares[i], capacity,
		                               is_same ? s->of[i - 1].denied
		                                       : busiest_deny(&s->busiest, capacity)};
	}
	free(sorted);
}

/* The first is heavier, or as heavy and came first. */
static bool
is_heavier(const struct busiest *busiest, uint32_t a, uint32_t b)
{
	return busiest->most[a] != busiest->most[b] ? busiest->most[a] > busiest->most[b] : a < b;
}

/* A few of many: each goes in where it belongs among those found. */
static void
find_heaviest(struct suggestions *s)
{
	size_t room = s->report->top < s->keys ? s->report->top : s->keys;

	s->heaviest = need(calloc(room + 1, sizeof(*s->heaviest)));
	for (uint32_t key = 0; key < s->keys && room > 0; key++) {
		size_t i = s->heaviest_count;

		if (i == room && !is_heavier(&s->busiest, key, s->heaviest[i - 1]))
			continue;
		if (i < room)
			s->heaviest_count++;
		else
			i--;
		for (; i > 0 && is_heavier(&s->busiest, key, s->heaviest[i - 1]); i--)
			s->heaviest[i] = s->heaviest[i - 1];
		s->heaviest[i] = key;
	}
}

static void
print_shares(const struct suggestions *s)
{
	uint64_t requests = s->report->events->count;

	printf("\n%-10s  %10s  %10s  %10s  %10s\n", "% of keys", "capacity", "keys over", "denied",
	       "% denied");
	for (size_t i = 0; i < SHARES; i++) {
		const struct suggestion *of = &s->of[i];

		printf("%-10.6g  %10" PRIu64 "  %10" PRIu64 "  %10" PRIu64 "  %10.4f\n",
		       of->share / 100.0, of->capacity, of->denied.keys, of->denied.requests,
		       100.0 * (double)of->denied.requests / (double)requests);
	}
}

static void
print_heaviest(const struct suggestions *s)
{
	if (s->heaviest_count > 0)
		printf("\nheaviest\n%10s  %10s  %-24s  %s\n", "at most", "requests", "until",
		       "key");
	for (size_t i = 0; i < s->heaviest_count; i++) {
		uint32_t key = s->heaviest[i];
		const struct name *name = names_at(&s->report->events->names, key);

		printf("%10" PRIu64 "  %10" PRIu32 "  %-24s  ", s->busiest.most[key],
		       name->requests,
		       local_format(s->busiest.most_ns[key], 0, s->report->is_local).text);
		output_bytes(stdout, name->bytes, name->len);
		putchar('\n');
	}
}

static void
write_text(const struct suggestions *s)
{
	printf("window        %s\n", duration_format(s->busiest.window_ns).text);
	report_print_intake(s->report);
	if (s->keys > 0)
		print_shares(s);
	print_heaviest(s);
}

static json_t *
json_shares(const struct suggestions *s)
{
	json_t *array = need(json_array());

	for (size_t i = 0; s->keys > 0 && i < SHARES; i++) {
		json_t *object = need(json_object());

		json_put(object, "keys_percent", need(json_real(s->of[i].share / 100.0)));
		json_put(object, "capacity", json_count(s->of[i].capacity));
		json_put(object, "keys_denied", json_count(s->of[i].denied.keys));
		json_put(object, "denied", json_count(s->of[i].denied.requests));
		json_push(array, object);
	}
	return array;
}

static json_t *
json_heaviest(const struct suggestions *s)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < s->heaviest_count; i++) {
		uint32_t key = s->heaviest[i];
		const struct name *name = names_at(&s->report->events->names, key);
		const struct key_view view = {
			.bytes = name->bytes, .kept = name->len, .len = name->len};
		json_t *object = need(json_object());

		json_put_key(object, &view);
		json_put(object, "requests", json_count(name->requests));
		json_put(object, "most", json_count(s->busiest.most[key]));
		json_put(object, "until_ns", json_count(s->busiest.most_ns[key]));
		json_push(array, object);
	}
	return array;
}

static void
write_json(const struct suggestions *s)
{
	json_t *root = need(json_object());

	report_put_intake(s->report, root);
	json_put(root, "window_ns", json_count(s->busiest.window_ns));
	json_put(root, "suggestions", json_shares(s));
	json_put(root, "heaviest", json_heaviest(s));
	output_json(root);
}

bool
suggest_report(const struct report_of *report, uint64_t window_ns, bool is_json)
{
	struct suggestions s = {
		.report = report,
		.busiest = {.window_ns = window_ns, .events = report->events},
		.keys = report->events->names.count,
	};

	if (!busiest_find(&s.busiest))
		return false;
	if (s.keys > 0)
		find_shares(&s);
	find_heaviest(&s);
	if (is_json)
		write_json(&s);
	else
		write_text(&s);
	free(s.heaviest);
	busiest_free(&s.busiest);
	return true;
}
