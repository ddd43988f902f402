/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_MOVER_H
#define RLD_MOVER_H

/*
 * Moves the keys of a segment that was resized (rl_resize()), whoever did that, a slice at a time:
 * a quarter of a core until all have moved. And, where the configuration has "keys_most", resizes
 * by itself: to twice the room as soon as a sweep has found four fifths of it in use, to half when
 * less than a fifth was for an hour, and to a longer ring when a definition has asked for one
 * (rl_info.ring_asked), as long as any window needs it. Of a longer one, and without "keys_most",
 * it tells: whoever may write the segment can ask.
 */

#include <rl_admin.h>
#include <stdbool.h>

#define MOVER_SLICE_NS (200 * UINT64_C(1000))
#define MOVER_REST 3 /* slices that a rest behind one is long */
#define MOVER_STEP 512
#define MOVER_AGAIN_NS RL_SECOND          /* until keys that stayed are tried again, */
#define MOVER_REFUSED_NS (60 * RL_SECOND) /* and what was refused */
#define MOVER_LOW_NS (3600 * RL_SECOND)

struct mover {
	struct rl *rl;
	uint64_t least, most; /* room for keys; most 0: it is not resized by itself */
	bool is_moving;
	uint64_t at;   /* the next slot */
	uint64_t left; /* keys that stayed in this pass */
	uint64_t due_ns;
	uint64_t low_since_ns;  /* 0: it is not low */
	uint64_t refused_ns;    /* when a resize was refused; 0: none was */
	uint32_t ring_reported; /* the longest ring that was asked for and told */
};

void mover_start(struct mover *m, struct rl *rl, uint64_t least, uint64_t most);

/* From now on these. */
void mover_set_bounds(struct mover *m, uint64_t least, uint64_t most);

/* Move a slice if it is due. Returns when the next one is; UINT64_MAX: no keys are moving. */
uint64_t mover_run(struct mover *m, uint64_t now_ns);

/* After a sweep that has found so many slots in use: resize if it is time. */
void mover_judge(struct mover *m, uint64_t used, uint64_t now_ns);

#endif
