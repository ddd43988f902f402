/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MAP_H
#define RL_MAP_H

#include "segment/segment.h"

/* From here on, memory is mapped so that it can have huge pages, asked for or not: that is free. */
#define RL_HUGE_BYTES (UINT64_C(32) << 20)

/* Map the file, or with fd -1 memory of this process alone. 0 or -errno. */
int rl_segment_map(struct rl_segment *s, const struct rl_header *checked, int fd, bool is_writable);

/* Map every page of it now. */
void rl_segment_populate(const struct rl_segment *s);

#endif
