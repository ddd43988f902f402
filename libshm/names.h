/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NAMES_H
#define RL_NAMES_H

#include <limits.h>
#include <stdbool.h>

#define RL_SHM_DIRECTORY "/dev/shm"

/* "/rl.NAME" for shm_open(), or false. */
bool rl_names_shm(const char *name, char path[static NAME_MAX]);

#endif
