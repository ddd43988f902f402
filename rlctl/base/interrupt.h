/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_INTERRUPT_H
#define RLCTL_INTERRUPT_H

/* For work that must not be left half done: signals that would end it are noted instead, and
 * the work looks in between its steps. */

#include <stdbool.h>
#include <stdint.h>

/* Note SIGINT, SIGTERM and SIGHUP from now on. */
void interrupt_catch(void);
bool interrupt_came(void);

/* Sleep, or until a signal comes; false if one has. */
bool interrupt_sleep(uint64_t ns);

#endif
