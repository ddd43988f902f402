/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_AUDIT_H
#define RL_AUDIT_H

/*
 * Is a segment whole? By rl_audit(), of a segment on which nobody works at the moment: so there is
 * nothing that it may leave open.
 */

#include "rl_admin.h"

#include <stdbool.h>

struct audit {
	struct rl_audit seen;
	char fault[200];
};

/* True if it is; else a->fault says what is not. */
bool audit_segment(struct rl *rl, struct audit *a);

/* Fails the test unless it is, and says what is not. */
void audit_assert_whole(struct rl *rl);

#endif
