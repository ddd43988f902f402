/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FLOOD_STORM_H
#define RL_FLOOD_STORM_H

#include <stdint.h>

#include "rl.h"

/* See storm.c. The exit code: 0 all is as promised, 1 it is not. */
int storm(enum rl_on_full on_full, uint64_t seed, unsigned seconds);

#endif
