/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_SEGMENT_H
#define RLD_SEGMENT_H

/* The segment that a configuration names: created or attached, and this process its sweeper. */

#include <load/load.h>
#include <stdbool.h>
#include <sys/stat.h>

struct segment {
	struct rl *rl;
	struct rl_options options; /* it was opened with, and is found with */
	dev_t device;              /* of the file, to see that its name still leads to it */
	ino_t inode;
};

/*
 * Create it if it is not there. One that is there is attached as it is, if it is what the
 * configuration asks for. Returns EXIT_DONE, or what to exit with after saying why.
 */
int segment_open(struct segment *segment, const struct config *config);

/* Resize it if the configuration asks for more keys or a longer ring; say so if that is refused. */
void segment_grow(struct segment *segment, const struct config *config);

/* The same for the rules of another configuration, whose segment is no word about this one. */
void segment_grow_ring(struct segment *segment, const struct config *config);

/* Say that the sweeper ends, and detach: the segment stays. */
void segment_close(struct segment *segment);

/* Its name is gone, or is another segment's now: nobody who comes will find this one. */
bool segment_is_gone(const struct segment *segment);

#endif
