/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_SLOT_H
#define RLD_STORE_SLOT_H

/* The hash slot of a key in a cluster: CRC16 of the key, or of what stands in its first {}. */

#include <stddef.h>

#define STORE_SLOTS 16384u

unsigned store_slot(const char *key, size_t size);

#endif
