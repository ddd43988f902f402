/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_OPTIONS_H
#define RLB_OPTIONS_H

/* Options of a segment from fields with names, and why a segment could not be opened with them. */

#include <rl_admin.h>

#include "values.h"

#pragma GCC visibility push(hidden)

/* The ring of a new segment where nothing is said of it: any window has room in it. */
#define RLB_RING RL_GRANULARITY_MAX

extern const struct rl_options rlb_options; /* those of a language that says nothing */

/*
 * Store one: a field of struct rl_options by its word in rl.json(5), or a flag of enum rl_open_flag
 * by its name in small letters ("huge_pages"). 0; -EINVAL: `text` says what is wrong; 1: it is
 * taken, and `text` is a warning for who said it.
 */
int rlb_option_set(struct rl_options *o, const char *name, size_t len,
                   const struct rlb_value *value, char text[RLB_TEXT_SIZE]);

/* All of them together, once each is within its bounds: 0; -EINVAL: `text` says which is wrong. */
int rlb_options_check(const struct rl_options *o, char text[RLB_TEXT_SIZE]);

/*
 * Why rl_open() or rl_open_private() with these arguments came to that error: which name or option
 * is wrong, or what is less than was asked for; else as rlb_why().
 */
#define RLB_OPEN_TEXT_SIZE (RL_OPEN_TEXT_SIZE + 256)
void rlb_open_why(int error, const char *name, const struct rl_options *asked,
                  char text[RLB_OPEN_TEXT_SIZE]);

#pragma GCC visibility pop

#endif
