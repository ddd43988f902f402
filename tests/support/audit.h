/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_AUDIT_H
#define RL_AUDIT_H

/*
 * Is a segment whole? For one on which nobody works at the moment, wherever whoever worked on it
 * was stopped or killed: what the opening comments of table.c, ring.c, log.h, rules.h and
 * record.h claim of every state between two steps is looked up in the bytes.
 *
 * - no key is LIVE in two places, and a FREE tag is nobody's
 * - a window's sum is what its ring holds, entry by entry, also when frozen half way
 * - the times of a log do not fall
 * - a record is its slot's key, in a place where that key may be, or is rejected
 * - no rule and no limit stands twice, and a rule refers to limits of its own
 */

#include "handle.h"

struct audit {
	unsigned live;
	unsigned tent;  /* claims under way or left behind */
	unsigned dying; /* LIVE tags whose state is DEAD */
	unsigned named; /* LIVE tags whose record holds */
	char fault[200];
};

/* True if it is; else a->fault says what is not. */
bool audit_segment(struct rl *rl, struct audit *a);

#endif
