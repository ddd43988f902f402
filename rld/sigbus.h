/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_SIGBUS_H
#define RLD_SIGBUS_H

#include "daemon.h"

/*
 * From now on, say it and end with EXIT_TROUBLE should the segment's file be truncated: whoever may
 * write it can do that, and memory that a file no longer has is SIGBUS. `d` stays where it is.
 */
void sigbus_watch(const struct daemon *d);

#endif
