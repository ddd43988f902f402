/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bench.h"

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double
samples_median(const struct samples *s)
{
	struct samples sorted = *s;

	qsort(sorted.ns, sorted.count, sizeof sorted.ns[0], by_size);
	return sorted.ns[sorted.count / 2];
}

struct samples
samples_sum(const struct samples *a, const struct samples *b)
{
	struct samples sum = {.count = a->count};

	for (unsigned i = 0; i < a->count; i++)
		sum.ns[i] = a->ns[i] + b->ns[i];
	return sum;
}

struct samples
samples_difference(const struct samples *a, const struct samples *b)
{
	struct samples difference = {.count = a->count};

	for (unsigned i = 0; i < a->count; i++)
		difference.ns[i] = a->ns[i] - b->ns[i];
	return difference;
}

struct samples
samples_ratio(const struct samples *a, const struct samples *b)
{
	struct samples ratio = {.count = a->count};

	for (unsigned i = 0; i < a->count; i++)
		ratio.ns[i] = a->ns[i] / b->ns[i];
	return ratio;
}
