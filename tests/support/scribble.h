/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SCRIBBLE_H
#define RL_SCRIBBLE_H

/*
 * Damage to a segment, by `seed`: words and ranges, at random and well chosen, and lies with valid
 * checks (forge.h).
 */

#include "segment/segment.h"

/* Somewhere in what may change while it is in use; a few words or ranges. */
void scribble_segment(const struct rl_segment *s, uint64_t *seed);

/* In what is checked when it is opened, mostly with the checksum that it should have. */
void scribble_header(struct rl_header *h, uint64_t *seed);

#endif
