/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TRUST_H
#define RL_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Anyone may put a file into /dev/shm before us. Who could only have been given this one by its
 * owner's choice is root, ourselves, or a group of ours that shares it with nobody else.
 */
bool rl_trust_is_trusted(const struct stat *file);

#endif
