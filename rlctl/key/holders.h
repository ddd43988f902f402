/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_HOLDERS_H
#define RLCTL_HOLDERS_H

/* The processes that hold units in flight of a key: collected, in words, and in JSON. */

#include <rl_admin.h>
#include <stdio.h>

#include "base/output.h"

#define COMMAND_SIZE 64

struct holder {
	unsigned limit; /* which of the rule's */
	uint32_t units;
	int pid;                    /* 0: not known */
	char command[COMMAND_SIZE]; /* "": not known */
	enum rl_holder_state state;
};

struct holders {
	struct holder *items;
	size_t count, room;
};

/* Under all limits of the rule. Who holds most comes first. To be freed. */
struct holders holders_collect(struct rl *rl, int rule, const struct key_view *key);
void holders_free(struct holders *holders);

/* Those of one limit, a line each. */
void holders_print(FILE *out, const struct holders *holders, unsigned limit);
json_t *holders_json(const struct holders *holders, unsigned limit);

#endif
