/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ITEM_LINE_H
#define RLCTL_ITEM_LINE_H

/*
 * item_json() of a key, as one line of text, without a tree of JSON for each of millions: numbers
 * are put down digit by digit, and the name of a rule is made once for all keys that follow.
 */

#include "key/ranking.h"

struct item_lines {
	struct rl *rl;
	int rule;      /* whose name is in `name` */
	bool has_name; /* it is there */
	char name[8 * RL_NAME_MAX];
};

/* `reason` as for item_json(). No newline behind it. */
void item_line_write(FILE *out, struct item_lines *lines, const struct item *item,
                     const char *reason);

#endif
