/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NAMES_H
#define RL_NAMES_H

/* Rows of rules: whose they become. See names.c. */

#include "configure/rows.h"

/*
 * The rule of that name, in a row that it has, or that was never used, or is nobody's any more.
 * Or -EINVAL, RL_ERULES, -EBUSY, or what else rl_lock_take() says.
 */
int rl_names_take(struct rl_rows *rows, const char *name);

/* Is it the rule's still, now that it has a list? Then it stays so. */
bool rl_names_hold(const struct rl_segment *s, int rule);

/* Rows that nobody can give away: of rules that have limits. How many. */
uint32_t rl_names_kept(const struct rl_segment *s, struct rl_row_set *set);

#endif
