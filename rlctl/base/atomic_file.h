/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ATOMIC_FILE_H
#define RLCTL_ATOMIC_FILE_H

/*
 * A file that is there whole or not at all, once every byte is on the disk (new_file.h), written as
 * a stream. "-" is standard output. Readable by its owner alone.
 */

#include <edit/new_file.h>
#include <stdbool.h>
#include <stdio.h>

struct atomic_file {
	FILE *file;
	const char *path;
	struct new_file made; /* none for standard output */
};

/* False after a message. */
bool atomic_file_open(const char *path, struct atomic_file *out);

/* Put it in its place; false after a message, and then it is gone. */
bool atomic_file_commit(struct atomic_file *out);

/* Leave no trace of it; standard output excepted. */
void atomic_file_abandon(struct atomic_file *out);

#endif
