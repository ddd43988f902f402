/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HEADER_H
#define RL_HEADER_H

#include <stddef.h>

#include "shared/layout.h"

/* The header of a new segment. 0 or -EIO. */
int rl_segment_header_fill(struct rl_header *h, const struct rl_geometry *g);

/* Is what `file_bytes` bytes of a file begin with the header of a segment we can use? */
int rl_segment_header_check(const struct rl_header *h, size_t have, uint64_t file_bytes);

#endif
