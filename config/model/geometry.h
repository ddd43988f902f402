/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_GEOMETRY_H
#define CONFIG_GEOMETRY_H

/* The file's fields of the segment to create, and of its daemon. */

#include "model/config.h"
#include "read/reader.h"

void read_segment(struct reader *reader, struct node object, struct config *config);
void read_gc(struct reader *reader, struct node object, struct config *config);

/*
 * See that the segment holds what the rules need. Where the file says too little, that is
 * reported; where it says nothing, room is made.
 */
void segment_fit(struct reader *reader, struct config *config);

#endif
