/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_HOSTS_H
#define RLD_CLUSTER_HOSTS_H

/* Which hosts there are, and which of them have come or gone since the store was asked before. */

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

#endif
