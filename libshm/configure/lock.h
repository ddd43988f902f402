/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LOCK_H
#define RL_LOCK_H

/*
 * The turn of who configures, or gives rows to other limits: one at a time. Of a segment with a
 * name it is a lock that the kernel drops with its holder, of a private one a word of the handle.
 */

#include "rule/handle.h"

struct rl_lock {
	struct rl *rl;
	int fd; /* -1: of a private segment */
};

/* 0; -EBUSY when others hold it for seconds; or why the segment's file cannot be opened. */
int rl_lock_take(struct rl *rl, struct rl_lock *lock);

/* The same without waiting. */
int rl_lock_try(struct rl *rl, struct rl_lock *lock);

void rl_lock_drop(struct rl_lock *lock);

#endif
