/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CGROUP_H
#define RL_CGROUP_H

/*
 * Where the directory of a control group is. /proc/self/cgroup tells its path, and
 * /proc/self/mountinfo where hierarchies are mounted and which group is at the top there. Both
 * paths are seen from the root of the process's cgroup namespace:
 *
 *	path         top of the mount   directory
 *	/a/b         /                  MOUNT/a/b
 *	/a/b         /a                 MOUNT/b
 *	/            /                  MOUNT, as in most containers
 *	/b           /../..             MOUNT/?/?/b: the host's mount, seen from a namespace
 *	/../b        /..                MOUNT/b
 *	/b           /a                 not below this mount
 *
 * The names that a namespace hides are those of the directory that has this process in it.
 */

#include <stdbool.h>
#include <stddef.h>

/* `group` may be cut at a slash behind its first `mount` bytes: those are groups above it. */
typedef void rl_cgroup_visit(char *group, size_t mount, void *arg);

/*
 * Call `visit` for the group's directory below each mount of the one hierarchy of version 2, or of
 * that of version 1 which has memory. Where the hidden names cannot be found it is the mount's own
 * directory. `root` is put before the name of each file. Returns how many there were.
 */
int rl_cgroup_find(const char *root, bool is_v2, const char *path, rl_cgroup_visit *visit,
                   void *arg);

#endif
