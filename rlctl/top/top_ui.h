/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_UI_H
#define RLCTL_TOP_UI_H

/*
 * The effect of keystrokes on top, and the lines of its screen then; the screen itself is
 * elsewhere.
 */

#include "top/top_frame.h"
#include "top/top_state.h"

void top_ui_open(struct top_ui *ui, const struct context *context, struct top_model *model);
void top_ui_free(struct top_ui *ui);

/* Take a filter: a network, a glob, or a part of the key. NULL, or what is wrong with it. */
const char *top_ui_filter(struct top_ui *ui, const char *text);

/* After a sample: the selection stays with its key. */
void top_ui_follow(struct top_ui *ui);

/* A key of screen_read(). */
void top_ui_key(struct top_ui *ui, int key);

/* The lines for a screen of so many rows; true if something is being typed. */
bool top_ui_frame(struct top_ui *ui, size_t rows, struct frame *frame);

#endif
