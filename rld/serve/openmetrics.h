/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_OPENMETRICS_H
#define RLD_OPENMETRICS_H

/*
 * The metrics' text as OpenMetrics 1.0 has it: a family of counters is named without "_total", what
 * has a unit says so, and the text ends with "# EOF".
 */

#include <stdbool.h>
#include <stddef.h>

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Whether who sends this Accept header, or NULL, takes it. */
bool openmetrics_is_accepted(const char *accept);

/* The whole text, to be freed; NULL when there is no memory for it. */
char *openmetrics_text(const char *text, size_t *size);

#endif
