/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_PROGRESS_H
#define RLCTL_PROGRESS_H

#include <stdint.h>

/* One line on stderr that says how far a long run is; nothing unless stderr is a terminal.
 * An interrupt erases it before it ends the program, unless interrupt_catch() was called. */
void progress_show(const char *what, uint64_t number);
void progress_erase(void);

#endif
