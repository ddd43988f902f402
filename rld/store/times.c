/* SPDX-License-Identifier: BSD-2-Clause */
#include "times.h"

#define US UINT64_C(1000)
#define MS (1000 * US)

const uint64_t store_bounds_ns[STORE_BOUNDS] = {
	250 * US, 500 * US, 1 * MS,   2500 * US, 5 * MS,    10 * MS,
	25 * MS,  50 * MS,  100 * MS, 250 * MS,  1000 * MS,
};

void
store_times_add(struct store_times *t, uint64_t ns)
{
	unsigned i = 0;

	while (i < STORE_BOUNDS && ns > store_bounds_ns[i])
		i++;
	t->counts[i]++;
	t->sum_ns += ns;
}

void
store_times_join(struct store_times *t, const struct store_times *more)
{
	for (unsigned i = 0; i <= STORE_BOUNDS; i++)
		t->counts[i] += more->counts[i];
	t->sum_ns += more->sum_ns;
}
