/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CHORES_H
#define RLD_CHORES_H

/* What is to be done now and again, besides the sweep. */

#include "daemon.h"

/* Do all that is due at `now_ns`, as clock_monotonic_ns(). Returns when the next one is. */
uint64_t chores_run(struct daemon *d, uint64_t now_ns);

/* The metrics' file, if there is to be one. */
void chores_write_textfile(struct daemon *d);

#endif
