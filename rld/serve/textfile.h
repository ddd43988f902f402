/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_TEXTFILE_H
#define RLD_TEXTFILE_H

/* A file of metrics, replaced at once (new_file.h) for a collector to read at any time: it is
 * another user, so whatever the umask, it may. */

#include <edit/new_file.h>
#include <stddef.h>

struct textfile {
	const char *path; /* NULL: none is asked for */
	struct stat made; /* what the last write has put there; no links: none has */
};

/* 0, or -1 after saying why: what is there is no regular file, or is a link. */
int textfile_open(struct textfile *t, const char *path);

/* 0 or -errno. */
int textfile_write(struct textfile *t, const char *text, size_t size);

/* Remove it, if it is what was written. May be called in a signal handler. */
void textfile_remove(const struct textfile *t);

#endif
