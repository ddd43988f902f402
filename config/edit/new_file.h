/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_NEW_FILE_H
#define CONFIG_NEW_FILE_H

/*
 * A file that is there whole or not at all: written beside its place without a name, given one that
 * nobody can know before, and renamed once every byte is there. What it replaces is a regular file
 * or nothing: to rename over /dev/null would be a bad surprise, and over a symbolic link, which
 * would be gone while the file it leads to stays as it was.
 *
 * A process that is killed while it writes leaves nothing; between the name and its place, or on a
 * file system where each file has a name, "PATH.XXXXXX".
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct new_file {
	const char *path;
	char *temporary;
	bool is_named; /* that it stands under `temporary` */
	int fd;
};

/* May one be put there? 0; -EMLINK a symbolic link; -EINVAL anything else that is no regular
 * file. */
int new_file_check(const char *path);

/* The meaning of an error of these. */
const char *new_file_strerror(int error);

/* 0, or -errno, as new_file_check() has them, too. Whatever the umask, its mode is `mode`. */
int new_file_create(struct new_file *file, const char *path, mode_t mode);

/* Put it in its place, to stay there when the power fails if `is_durable`; its descriptor is closed
 * either way. `made`, unless it is NULL, is told which file that is. 0, or -errno, and then it is
 * gone. */
int new_file_commit(struct new_file *file, bool is_durable, struct stat *made);

/* Leave no trace of it. */
void new_file_abandon(struct new_file *file);

/* The one or the other: `error` is how it was written. 0 or -errno. */
int new_file_end(struct new_file *file, int error, bool is_durable, struct stat *made);

/* A file with that text, from the first of these to the last. 0 or -errno. */
int new_file_put(const char *path, mode_t mode, const char *text, size_t len, bool is_durable,
                 struct stat *made);

/* Remove what stands there if it is that still: a file, or a socket. May be called in a signal
 * handler. */
void file_remove_made(const char *path, const struct stat *made);

#endif
