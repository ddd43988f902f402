/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_EXPIRY_H
#define RLCTL_EXPIRY_H

#include <stdint.h>

#define EXPIRY_FORMS "2026-12-24T18:00Z, 2026-12-24, @1798135200 or never"

/*
 * When something is to end: a day or a time in UTC, "@" and seconds since 1970, or "never".
 * NULL, or in a few words what is wrong with the text.
 */
const char *expiry_parse(const char *text, uint64_t *unix_ns);

#endif
