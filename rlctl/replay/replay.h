/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_H
#define RLCTL_REPLAY_H

#include "base/command.h"

/* All that rl-replay does; the exit status. */
int replay_run(const struct context *context);

#endif
