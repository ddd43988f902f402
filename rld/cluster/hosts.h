/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_HOSTS_H
#define RLD_CLUSTER_HOSTS_H

/*
 * Which hosts there are, which of them have come or gone since the store was asked before, and
 * among how many a capacity is divided while the store is away.
 */

#include <store/value.h>

#include "identity.h"

struct hosts {
	char (*of)[IDENTITY_TEXT]; /* in their order */
	size_t count;
	bool is_known;
};

typedef void hosts_report(void *arg, bool has_joined, const char *host);

/*
 * Take the items of an answer from `from` on. The first such answer tells nothing: nobody knows who
 * was there before.
 */
void hosts_take(struct hosts *h, const struct store_value *v, size_t from, hosts_report *report,
                void *arg);

void hosts_free(struct hosts *h);

#define HOSTS_LIFE_NS UINT64_C(30000000000) /* in which each has announced itself anew */

/* The most that there were, and when there were as many last. */
struct hosts_most {
	uint64_t count, at_ns;
};

/*
 * So many there are. What they are taken for is no less than a moment ago: a store that has lost
 * all knows of those alone that have announced themselves since.
 */
uint64_t hosts_most(struct hosts_most *m, uint64_t count, uint64_t now_ns);

#endif
