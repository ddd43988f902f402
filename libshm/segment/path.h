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
 *	no               a stranger's      made in /dev/shm/rl; readers get the second
 *	yes              yes               two: RL_ETWICE
 *
 * A stranger's is one that rl_trust_owner() refuses. It counts as none, or the directory would keep
 * no name from a stranger.
 */

#include <stdbool.h>

#include "rl.h"

#define RL_PATH_PUBLIC "/dev/shm"

/* The directory of rl's own; tests have one of theirs, or NULL for none. */
extern const char *rl_path_own;

struct rl_path {
	const char *directory;
	char text[RL_PATH_MAX]; /* "" of a private segment */
};

/*
 * The file that has the name, or will have it, for a caller with these options; of two, that in
 * rl's own directory. 0, -EINVAL, RL_ETWICE.
 */
int rl_path_find(const char *name, const struct rl_options *o, struct rl_path *path);

/* Is it in the directory of rl's own? */
bool rl_path_is_own(const struct rl_path *path);

#endif
