/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_SEAL_H
#define RLD_CLUSTER_SEAL_H

/*
 * Bytes that the store keeps and cannot read: sealed by the cluster's secret (AES-256-GCM, a random
 * nonce), under a name that is a hash of it. Who has not the secret can neither read nor make one,
 * nor put one under another's name.
 *
 *	nonce:12 | tag:16 | as many bytes as were sealed
 */

#include <stdbool.h>
#include <stddef.h>

#include "secret.h"

#define SEAL_MORE 28 /* bytes that are added */
#define SEAL_NAME 33 /* 32 hex digits */

/* The name of what these bytes say. False without memory. */
bool seal_name(const struct secret *s, const unsigned char *bytes, size_t size,
               char name[static SEAL_NAME]);

/* `sealed` has room for size + SEAL_MORE. False where there is no randomness or memory. */
bool seal_close(const struct secret *s, const char *name, const unsigned char *bytes, size_t size,
                unsigned char *sealed);

/*
 * `bytes` has room for size - SEAL_MORE. False: it was sealed by another secret, under another
 * name, or damaged.
 */
bool seal_open(const struct secret *s, const char *name, const unsigned char *sealed, size_t size,
               unsigned char *bytes);

#endif
