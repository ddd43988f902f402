/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bench.h"

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

unsigned
samples_disturbed(const struct samples *s)
{
	unsigned disturbed = 0;

	for (unsigned i = 0; i < s->count; i++)
		disturbed += s->is_disturbed[i];
	return disturbed;
}

/* Those that count, the least first; how many. */
static unsigned
sort(const struct samples *s, double sorted[BENCH_ROUNDS_MAX])
{
	bool drops = samples_disturbed(s) < s->count;
	unsigned count = 0;

	for (unsigned i = 0; i < s->count; i++)
		if (!drops || !s->is_disturbed[i])
			sorted[count++] = s->ns[i];
	qsort(sorted, count, sizeof sorted[0], by_size);
	return count;
}

double
samples_median(const struct samples *s)
{
	double sorted[BENCH_ROUNDS_MAX];

	return sorted[sort(s, sorted) / 2];
}

double
samples_least(const struct samples *s)
{
	double sorted[BENCH_ROUNDS_MAX];

	sort(s, sorted);
	return sorted[0];
}

static double
median_of_part(const struct samples *s, unsigned part, unsigned parts)
{
	unsigned first = s->count * part / parts, end = s->count * (part + 1) / parts;
	struct samples some = {.count = end - first};

	for (unsigned i = 0; i < some.count; i++) {
		some.ns[i] = s->ns[first + i];
		some.is_disturbed[i] = s->is_disturbed[first + i];
	}
	return samples_median(&some);
}

struct range
samples_medians(const struct samples *s)
{
	unsigned parts = s->count < 3 ? 1 : 3;
	double median[3];

	for (unsigned i = 0; i < parts; i++)
		median[i] = median_of_part(s, i, parts);
	qsort(median, parts, sizeof median[0], by_size);
	return (struct range){median[0], median[parts - 1]};
}

/* Round by round; disturbed where one of both was. */
struct samples
samples_ratio(const struct samples *a, const struct samples *b)
{
	struct samples s = {.count = a->count};

	for (unsigned i = 0; i < a->count; i++) {
		s.is_disturbed[i] = a->is_disturbed[i] || b->is_disturbed[i];
		s.ns[i] = a->ns[i] / b->ns[i];
	}
	return s;
}
