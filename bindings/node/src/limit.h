/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NODE_LIMIT_H
#define RL_NODE_LIMIT_H

#include "rl_node.h"

/* A limit as an object of JavaScript, and the other way round. */
bool read_limit(napi_env env, napi_value object, struct rl_limit *limit);
napi_value limit_object(napi_env env, const struct rl_limit *limit);

#endif
