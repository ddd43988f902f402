/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_CLUSTER_H
#define CONFIG_CLUSTER_H

/* The store that hosts of a cluster share their limits by, as the file has it. */

#include "model/config.h"
#include "read/reader.h"

void read_cluster(struct reader *reader, struct node object, struct config *config);

#endif
