/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The largest file that is read: some millions of overrides. */
#define CONFIG_BYTES_MAX (UINT32_C(256) << 20)

/*
 * Open a regular file to read it. Of anything else (a FIFO, a device, a socket) nobody knows how
 * long it takes, or whether it ends, so it is -EINVAL, or -EISDIR, and at once.
 */
int file_open(const char *path);

/* The meaning of an error of these calls, for people: "is no regular file". */
const char *file_strerror(int error);

/*
 * All of a regular file of at most `most` bytes, with a NUL behind it, to be freed. 0, or -errno:
 * -EFBIG if it is larger.
 */
int file_read(const char *path, size_t most, char **text, size_t *len);

/* The same of what is left to read of whatever is open. */
int file_read_fd(int fd, size_t most, char **text, size_t *len);

/* Write all of it, or -errno. */
int file_write(int fd, const char *text, size_t len);

#endif
