/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SEGMENT_FILE_H
#define RL_SEGMENT_FILE_H

/* Between the files that make up a segment: its bytes, and the file that holds them. */

#include "segment/segment.h"

/* The header of a new segment. 0 or -EIO. */
int rl_segment_header_fill(struct rl_header *h, const struct rl_geometry *g);

/* Is what `file_bytes` bytes of a file begin with the header of a segment we can use? */
int rl_segment_header_check(const struct rl_header *h, size_t have, uint64_t file_bytes);

/* Read this process's clock as the creator's, after mapping. 0 or RL_ECLOCK. */
int rl_segment_follow_clock(struct rl_segment *s, const struct rl_header *checked);

/* Map the file, or with fd -1 memory of this process alone. 0 or -errno. */
int rl_segment_map(struct rl_segment *s, const struct rl_header *checked, int fd, bool is_writable);

/* To one that is there, or -ENOENT, and s->path is where it is to be. 0 or -errno. */
int rl_segment_attach(const char *name, const struct rl_options *o, struct rl_segment *s);

/* To one that is there by now, or else create it; -EEXIST if another was faster. */
int rl_segment_attach_or_create(const char *name, const struct rl_options *o,
                                const struct rl_geometry *g, struct rl_segment *s);

#endif
