/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_GEOMETRY_H
#define CONFIG_GEOMETRY_H

/* What the file says of the segment to create, and of its daemon. */

#include "model/config.h"
#include "read/reader.h"

/* What a segment has that was created without a wish; see struct rl_options. */
#define KEYS_DEFAULT 24576
#define RING_DEFAULT 64
#define KEY_BYTES_DEFAULT 48
#define RULES_DEFAULT 64
#define OVERRIDES_DEFAULT 1024
#define BANS_DEFAULT 1024
#define MODE_DEFAULT 0600
#define BUFFER_DEFAULT (10 * RL_SECOND)

void read_segment(struct reader *reader, struct node object, struct config *config);
void read_gc(struct reader *reader, struct node object, struct config *config);

/*
 * See that the segment holds what the rules need. Where the file says too little, that is
 * reported; where it says nothing, room is made.
 */
void segment_fit(struct reader *reader, struct config *config);

#endif
