/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GROW_H
#define RL_GROW_H

#include <stdint.h>

/*
 * Reserve `bytes` bytes of a file from `from` on, all zeros. 0; RL_EMEMORY, -ENOSPC, -EFBIG or
 * another -errno.
 */
int rl_segment_grow(int fd, uint64_t from, uint64_t bytes);

#endif
