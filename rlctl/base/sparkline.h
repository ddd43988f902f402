/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SPARKLINE_H
#define RLCTL_SPARKLINE_H

/* Numbers as a line of small columns. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `values` as one character each, scaled to the largest: "▁▃█", or ".-@". To be freed. */
char *sparkline(const uint64_t *values, size_t count, bool is_utf8);

/* Does the locale of the environment have such characters? Makes it the program's. */
bool sparkline_has_utf8(void);

#endif
