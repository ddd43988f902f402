/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RESEAL_H
#define RLCTL_RESEAL_H

#include <stdbool.h>

#include "cluster/client.h"

/*
 * Orders that are sealed with the secret before are from now on sealed with the one that is in use.
 * False after a message; it can be done again.
 */
bool reseal_orders(struct client *c, const struct secret *before, const struct secret *now);

#endif
