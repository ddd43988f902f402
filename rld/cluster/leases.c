/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases.h"

void
leases_init(struct leases *l, uint64_t lease_ns, uint64_t now_ns)
{
	*l = (struct leases){.span_ns = lease_ns / 64 + 1};
	l->first = now_ns / l->span_ns;
}

static uint64_t *
count_of(struct leases *l, uint64_t until_ns)
{
	uint64_t number = until_ns / l->span_ns;

	return number < l->first ? &l->over : &l->counts[number % LEASES_SPANS];
}

void
leases_add(struct leases *l, uint64_t until_ns)
{
	(*count_of(l, until_ns))++;
	l->total++;
}

void
leases_remove(struct leases *l, uint64_t until_ns)
{
	(*count_of(l, until_ns))--;
	l->total--;
}

static void
go_on(struct leases *l, uint64_t now_ns)
{
	uint64_t number = now_ns / l->span_ns;

	for (unsigned i = 0; i < LEASES_SPANS && l->first < number; i++, l->first++) {
		l->over += l->counts[l->first % LEASES_SPANS];
		l->counts[l->first % LEASES_SPANS] = 0;
	}
	l->first = number > l->first ? number : l->first;
}

uint64_t
leases_earliest(struct leases *l, uint64_t now_ns)
{
	go_on(l, now_ns);
	if (l->total == 0)
		return UINT64_MAX;
	if (l->over > 0)
		return 0;
	for (uint64_t n = l->first; n < l->first + LEASES_SPANS; n++)
		if (l->counts[n % LEASES_SPANS] > 0)
			return n * l->span_ns;
	return 0;
}
