/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_LIST_H
#define RLCTL_BAN_LIST_H

/* ban and allow --from FILE: a whole list, beside what stands of it already. */

#include "key/ban_order.h"

/*
 * Nothing is set unless the file can be read, each entry can be a pattern and covers no more than
 * a /8 (IPv6: a /16), and there is room for all. With --dry-run nothing is set in any case, and
 * each difference is told. With --sync, what stands for the same reason and is in the list no more
 * is lifted. Returns the exit status.
 */
int ban_list(const struct context *context, struct rl *rl, const struct ban_order *order);

#endif
