/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RENEW_H
#define RL_RENEW_H

#include "rule/handle.h"

/*
 * Forget what all keys of the rule have counted, in a time that does not depend on how many there
 * are. True when it is done. False: it cannot be done so now, and nothing of what was counted may
 * have been forgotten, or all under some of its limits.
 */
bool rl_renew_rule(struct rl *rl, int rule);

#endif
