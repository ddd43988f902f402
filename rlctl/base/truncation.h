/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TRUNCATION_H
#define RLCTL_TRUNCATION_H

/*
 * Whoever may write a segment may truncate its file, and what is read of it then is SIGBUS. It
 * comes from an access to the segment, never from within libc: so whoever looked is left where it
 * was, and loses what it held.
 */

#include <signal.h>
#include <stdbool.h>

/* Do that; false if it was broken off by a truncation. They may be nested. */
bool truncation_survive(void (*look)(void *arg), void *arg);

/* For a handler of another's: does not return if that is what the signal says. */
void truncation_leave(int number, const siginfo_t *info);

#endif
