/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TOOL_H
#define RL_TOOL_H

/* rlctl, as it is built with sanitizers, on the segment of this test. */

#include <stdbool.h>
#include <stdint.h>

/* Is it there? Then what sanitizers find in it, from now on, has an exit status of its own. */
bool tool_is_there(void);

/*
 * Run it with those arguments. Fails the test unless it ends with a status that it has and says
 * nothing but what is harmless; `number` is said of the case.
 */
void tool_run(const char *arguments, uint64_t number);

#endif
