/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TRUST_H
#define RL_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

#include "rl.h"

/*
 * Anyone may put a file into /dev/shm before us. Who could only have been given this one by its
 * owner's choice is root, ourselves, or the group that the caller names. A group that one merely
 * belongs to is nobody's choice: any other member could have made it.
 */
bool rl_trust_owner(const struct stat *file, const struct rl_options *o);

/* Is it for everybody to read or write only if these options ask for that? */
bool rl_trust_mode(const struct stat *file, const struct rl_options *o);

#endif
