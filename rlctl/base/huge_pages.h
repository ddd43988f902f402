/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_HUGE_PAGES_H
#define RLCTL_HUGE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define HUGE_PAGE (UINT64_C(2) << 20)

/*
 * How many bytes of a segment that this process has open lie on huge pages, as its page table
 * has them. False if /proc does not tell.
 */
bool huge_pages_read(const char *name, uint64_t *bytes);

#endif
