/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_KEEP_H
#define RL_KEEP_H

/* The applications' definition of a rule, and one that others are not to replace. See keep.c. */

#include "configure/rows.h"

/* How the applications' definition of a rule compares with another. */
enum rl_defined {
	RL_DEFINED_NOT,   /* there is none */
	RL_DEFINED_SO,    /* it is the same */
	RL_DEFINED_OTHER, /* it differs */
};

enum rl_defined rl_keep_compare(const struct rl_segment *s, int rule, const struct rl_rule *of);

/*
 * Put in force, as the applications' definition, the rows that were just taken and what they admit.
 * 0; -EAGAIN if others define the rule, or the row was given to another; -EBUSY.
 */
int rl_keep_define(struct rl_rows *rows, int rule, const struct rl_rule *of);

#endif
