/* SPDX-License-Identifier: BSD-2-Clause */
#include "histogram.h"

/* Octave k > 0 holds [HALF << k, 2 * HALF << k); the fine ones are octave 0 and before. */
static unsigned
cell_of(uint64_t ns)
{
	unsigned octave = 0;

	while (ns >> octave >= 2 * HISTOGRAM_HALF)
		octave++;
	return octave * HISTOGRAM_HALF + (unsigned)(ns >> octave);
}

static uint64_t
start_of(unsigned cell)
{
	unsigned octave = cell < 2 * HISTOGRAM_HALF ? 0 : cell / HISTOGRAM_HALF - 1;

	return (uint64_t)(cell - octave * HISTOGRAM_HALF) << octave;
}

void
histogram_add(struct histogram *h, uint64_t ns)
{
	h->cell[cell_of(ns)]++;
	h->count++;
	if (ns > h->max)
		h->max = ns;
}

uint64_t
histogram_at(const struct histogram *h, double share)
{
	uint64_t below = 0, wanted = (uint64_t)(share * (double)h->count);

	for (unsigned i = 0; i < HISTOGRAM_CELLS && share < 1; i++) {
		below += h->cell[i];
		if (below >= wanted)
			return start_of(i);
	}
	return h->max;
}
