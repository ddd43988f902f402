/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_LEASES_H
#define RLD_CLUSTER_LEASES_H

/*
 * When the leases of all shares end: how many in each span of a ring of time. The earliest is found
 * without a look at the keys.
 *
 *	ring   | 0 | 0 | 3 | 120 | 41 | 0 | ...		a span is 1/64 of a lease
 *	       ^ now   ^ earliest
 */

#include <stdbool.h>
#include <stdint.h>

#define LEASES_SPANS 256u

struct leases {
	uint64_t span_ns;
	uint64_t first; /* number of the span of now: those before are over */
	uint64_t counts[LEASES_SPANS];
	uint64_t over, total; /* over: of all, those that have ended and are still kept */
};

void leases_init(struct leases *l, uint64_t lease_ns, uint64_t now_ns);

/* At most three leases from now. */
void leases_add(struct leases *l, uint64_t until_ns);

/* As it was added. */
void leases_remove(struct leases *l, uint64_t until_ns);

/* No lease ends before; 0: one is over; UINT64_MAX: there is none. */
uint64_t leases_earliest(struct leases *l, uint64_t now_ns);

#endif
