/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_UNTIL_H
#define RLCTL_UNTIL_H

#include <stdint.h>

#define UNTIL_FORMS "2026-12-24T18:00Z, 2026-12-24, @1798135200 or never"

/*
 * When something is to end: a day or a time in UTC, "@" and seconds since 1970, or "never".
 * NULL, or in a few words what is wrong with the text.
 */
const char *until_parse(const char *text, uint64_t *unix_ns);

#endif
