/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ATTACH_H
#define RL_ATTACH_H

#include "segment/segment.h"

/* To one that is there, or -ENOENT, and s->path is where it is to be. 0 or -errno. */
int rl_segment_attach(const char *name, const struct rl_options *o, struct rl_segment *s);

#endif
