/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/chance.h"

_Thread_local uint64_t rl_chance_state;
