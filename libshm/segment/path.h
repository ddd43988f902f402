/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PATH_H
#define RL_PATH_H

/*
 * Where the segment of a name is. There are two directories. Any user may put a file into /dev/shm,
 * and so take a name before its owner does. /dev/shm/rl is root's: if it exists, segments are made
 * in it, and a caller that may not write there gets an error. One name is one segment, so both are
 * checked:
 *
 *	in /dev/shm/rl   in /dev/shm       is
 *	no               no                made in /dev/shm/rl
 *	yes              no, a stranger's  the first
 *	no               yes               the second, as before there was a directory
 *	no               a stranger's      made in /dev/shm/rl
 *	no               a member's        made in /dev/shm/rl; who only looks, or tends it, gets
 *	                                   the second
 *	yes              yes               two: RL_ETWICE
 *
 * A stranger's is one that rl_trust_owner() refuses, a member's one of these that has the group of
 * /dev/shm/rl. A stranger's counts as none for everybody, or the directory would keep no name from
 * a stranger, and no reader from its bytes.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "rl_admin.h"

#define RL_PATH_PUBLIC "/dev/shm"

/* The directory of rl's own; tests have one of theirs, or NULL for none. */
extern const char *rl_path_own;

struct rl_path {
	const char *directory;
	char text[RL_PATH_MAX]; /* "" of a private segment */
	bool is_beside_own; /* in /dev/shm, and there is a directory of rl's own, of `members` */
	gid_t members;
};

/*
 * The file that has the name, or will have it, for a caller with these options; of two, that in
 * rl's own directory. 0, -EINVAL, RL_ETWICE.
 */
int rl_path_find(const char *name, const struct rl_options *o, struct rl_path *path);

/*
 * Is the file that was opened there still one that counts? Its name may have come to be a
 * stranger's meanwhile.
 */
bool rl_path_counts(const struct rl_path *path, const struct stat *file,
                    const struct rl_options *o);

/*
 * Where that very file has the name: it may have been moved from the one directory to the other. 0,
 * -ENOENT.
 */
int rl_path_of(const char *name, const struct stat *file, struct rl_path *path);

/* Is it in the directory of rl's own? */
bool rl_path_is_own(const struct rl_path *path);

#endif
