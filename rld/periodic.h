/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_PERIODIC_H
#define RLD_PERIODIC_H

/* The periodic jobs besides the sweep. */

#include "daemon.h"

/* Do all that is due at `now_ns`, as clock_monotonic_ns(). Returns when the next one is. */
uint64_t periodic_run(struct daemon *d, uint64_t now_ns);

/* The metrics' file, if there is to be one. */
void periodic_write_textfile(struct daemon *d);

/*
 * Write the bans that stand to the file of bans, if there is to be one; if they have changed, or in
 * any case.
 */
void periodic_keep_bans(struct daemon *d, bool in_any_case);

#endif
