/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_FRAME_H
#define RLCTL_TOP_FRAME_H

/* top's model as lines: for a screen of some size, or for a pipe. */

#include "top/frame.h"
#include "top/top_model.h"

#define TOP_NONE SIZE_MAX /* no key is selected */

struct top_look {
	size_t rows; /* of the screen, but for its last two lines; 0: as many as there are */
	size_t selected;
	const char *filter; /* or "" */
	bool is_paused;
};

/* Returns how many keys are shown from *first on, which is moved to show the selected one. */
size_t top_frame(const struct top_model *model, const struct top_look *look, size_t *first,
                 struct frame *frame);

#endif
