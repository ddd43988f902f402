/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OVERVIEW_H
#define RLCTL_OVERVIEW_H

#include "segment/segments_view.h"

/* A line for each segment; `most_rules` of each are told below it, those that deny most. */
void overview_print(const struct segments_view *view, bool has_head, size_t most_rules);

/* rlctl without a verb: one screen of all segments, or as JSON what `segments` has. Returns what to
 * exit with. */
int overview(bool is_json);

#endif
