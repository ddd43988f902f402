/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TRUST_H
#define RL_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

#include "rl.h"

/*
 * Anyone may put a file into /dev/shm before us. We trust files owned by root or by ourselves, and
 * those of the group that the caller names. A group that we merely belong to is not enough: any
 * other member could have made the file.
 */
bool rl_trust_owner(const struct stat *file, const struct rl_options *o);

/* False if everybody may read or write it and these options do not ask for that. */
bool rl_trust_mode(const struct stat *file, const struct rl_options *o);

#endif
