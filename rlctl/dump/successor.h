/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SUCCESSOR_H
#define RLCTL_SUCCESSOR_H

/*
 * A segment that is made beside one that is there, and then takes its name:
 *
 *	rl.NAME            -- the old one, which its workers have open
 *	rl.NAME.upgrading  -- the successor, while it is filled
 *
 * rename(2) puts the one in the other's place: whoever opens the name finds the one or the other,
 * whole. Who is killed before that leaves a successor that nobody has asked for, and the next one
 * removes it. One at a time has the old file locked, and the kernel ends that with the process. The
 * successor belongs to whom the old one belongs to, and so does whoever makes it: root becomes that
 * user first.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <sys/stat.h>

struct successor {
	const char *name; /* of both, in the end */
	char beside[RL_NAME_MAX + 1];
	char path[RL_PATH_MAX]; /* of the old one */
	struct stat old;
	int fd; /* the lock */
	struct rl *rl;
};

/* Look at the old one, become its owner, and lock it. False after a message. */
bool successor_begin(struct successor *s, const char *name);

/*
 * Make the successor, with these options and the old one's mode and group. False after a message.
 */
bool successor_make(struct successor *s, const struct rl_options *options);

/* Put it in the old one's place. False after a message, and then the old one has it still. */
bool successor_commit(struct successor *s);

/* Remove what has not been put in place, and unlock. */
void successor_end(struct successor *s);

#endif
