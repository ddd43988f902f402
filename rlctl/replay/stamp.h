/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_STAMP_H
#define RLCTL_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The time of a web server's log, "01/Aug/1995:00:00:01 -0400]", bracket included, as
 * nanoseconds since 1970. False if it is not one, or not between 1970 and 2262.
 */
bool stamp_parse(const char *text, uint64_t *ns);

#endif
