/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_TEXTFILE_H
#define RLD_TEXTFILE_H

#include <stddef.h>

/*
 * Replace the file at once, for a collector to read at any time. The text goes to PATH.tmp,
 * which the next call overwrites should this one be killed. 0 or -errno.
 */
int textfile_write(const char *path, const char *text, size_t size);

#endif
