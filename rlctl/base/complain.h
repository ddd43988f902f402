/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COMPLAIN_H
#define RLCTL_COMPLAIN_H

/* Messages of trouble. */

/* "rlctl: ..." and a newline on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `pointer`, unless it is NULL: then there is no memory, and the program ends. */
void *need(void *pointer);

#endif
