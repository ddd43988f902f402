/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_GIVE_ORDERS_H
#define RLCTL_GIVE_ORDERS_H

/* What every host of a cluster is to do, and who has done it. */

#include <cluster/order.h>

#include "cluster/client.h"

/*
 * Give these orders, one after the other, wait some seconds until each host has done them, and tell
 * how many have. Returns what to exit with.
 */
int give_orders(struct client *c, const struct context *context, const struct order *orders,
                unsigned count);

#endif
