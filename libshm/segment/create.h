/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CREATE_H
#define RL_CREATE_H

#include "segment/attach.h"

/* Attach to one that is there by now, or else create it; -EEXIST if another was faster. */
int rl_segment_attach_or_create(const char *name, const struct rl_options *o,
                                const struct rl_geometry *g, struct rl_segment *s);

#endif
