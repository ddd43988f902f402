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

double
samples_median(const struct samples *s)
{
	bool drops = samples_disturbed(s) < s->count;
	double sorted[BENCH_ROUNDS_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < s->count; i++)
		if (!drops || !s->is_disturbed[i])
			sorted[count++] = s->ns[i];
	qsort(sorted, count, sizeof sorted[0], by_size);
	return sorted[count / 2];
}

enum operation {
	SUM,
	DIFFERENCE,
	RATIO,
};

/* Round by round; disturbed where one of both was. */
static struct samples
combine(const struct samples *a, const struct samples *b, enum operation operation)
{
	struct samples s = {.count = a->count};

	for (unsigned i = 0; i < a->count; i++) {
		s.is_disturbed[i] = a->is_disturbed[i] || b->is_disturbed[i];
		switch (operation) {
		case SUM:
			s.ns[i] = a->ns[i] + b->ns[i];
			break;
		case DIFFERENCE:
			s.ns[i] = a->ns[i] - b->ns[i];
			break;
		case RATIO:
			s.ns[i] = a->ns[i] / b->ns[i];
			break;
		}
	}
	return s;
}

struct samples
samples_sum(const struct samples *a, const struct samples *b)
{
	return combine(a, b, SUM);
}

struct samples
samples_difference(const struct samples *a, const struct samples *b)
{
	return combine(a, b, DIFFERENCE);
}

struct samples
samples_ratio(const struct samples *a, const struct samples *b)
{
	return combine(a, b, RATIO);
}
