/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include <stddef.h>

/*
 * All of a file of at most `most` bytes, with a NUL behind it, to be freed. 0, or -errno: -EFBIG
 * if it is larger.
 */
int file_read(const char *path, size_t most, char **text, size_t *len);

/* The same of what is left to read of an open file. */
int file_read_fd(int fd, size_t most, char **text, size_t *len);

/* Write all of it, or -errno. */
int file_write(int fd, const char *text, size_t len);

#endif
