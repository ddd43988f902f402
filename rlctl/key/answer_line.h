/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ANSWER_LINE_H
#define RLCTL_ANSWER_LINE_H

/*
 * The answer to a key under one rule, as a line of a table: of several limits the one that denies
 * it, or else the one of which most is used.
 */

#include "key/explain.h"

void answer_line_head(void);
void answer_line_print(struct rl *rl, const struct explanation *explanation);

#endif
