/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SAME_CONFIG_H
#define RL_SAME_CONFIG_H

#include <stdbool.h>

#include "model/config.h"

/* Both mean the same: options, rules, limits and overrides, all in the same order. */
bool same_config(const struct config *a, const struct config *b);

#endif
