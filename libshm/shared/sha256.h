/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHA256_H
#define RL_SHA256_H

/*
 * SHA-256 as FIPS 180-4 defines it, written from the standard. Of public bytes: no secret is
 * hashed.
 */

#include <stddef.h>

#define RL_SHA256_BYTES 32

void rl_sha256(const void *bytes, size_t len, unsigned char digest[static RL_SHA256_BYTES]);

#endif
