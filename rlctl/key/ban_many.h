/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_BAN_MANY_H
#define RLCTL_BAN_MANY_H

/* ban and allow of many keys: all operands, or "-", what stands on standard input. */

#include "key/ban_order.h"

/* True if there is more than one. */
bool ban_is_many(const struct context *context);

/*
 * Each is set or refused by itself; the first refusals are told one by one, and then how many there
 * were. Returns the exit status: trouble if one was refused.
 */
int ban_many(const struct context *context, struct rl *rl, const struct ban_order *order);

#endif
