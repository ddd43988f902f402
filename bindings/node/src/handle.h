/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NODE_HANDLE_H
#define RL_NODE_HANDLE_H

/*
 * The segments that this process has open: one handle for each name, shared by all threads, and
 * counted. A handle is closed when the last environment gives it back. None can be in a call then,
 * for each gives back what it uses in its own thread.
 *
 * A segment may be replaced under its name: removed, and made anew by another process. Then a
 * process that goes on with the old one would count alone. handle_renew() finds that by the file's
 * identity.
 */
#include <stdbool.h>

#include "segment.h"

#define HANDLE_NAME_SIZE 256 /* more than a name may have: rl_open() refuses such a one */

struct handle {
	struct handle *next;
	struct rlb_segment s;
	unsigned users; /* environments */
	bool is_named;  /* a private segment has no name and belongs to one environment */
	bool is_readonly;
	bool is_replaced; /* nobody gets it any more */
};

/* 0 and a handle to give back, or an error of rl_open(). Any thread may call each of these. */
int handle_open(const char *name, const struct rl_options *options, struct handle **to);
int handle_open_private(const struct rl_options *options, struct handle **to);
void handle_give_back(struct handle *handle);

/*
 * If the name now belongs to another segment, or to none, open that or make one: then *handle is
 * another handle, the old one is given back, and the answer is 1. Else 0. An error of rl_open()
 * leaves things as they are: the old segment counts on until there is another.
 */
int handle_renew(struct handle **handle);

#endif
