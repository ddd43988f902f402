/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_DIRECTIVE_H
#define RLB_DIRECTIVE_H

/*
 * Words of a server's directives, as they stand in its configuration: "5/min", "hard=off",
 * "keys=1000". Which there are, and their bounds, is librl's to say: rl_fields.h. Each ends with a
 * NUL.
 */

#include <stdbool.h>

#include "../../bindings/common/limit.h"
#include "../../bindings/common/options.h"

#pragma GCC visibility push(hidden)

/* What stands behind "name=", if the word begins so; else NULL. */
const char *rlb_word_value(const char *word, const char *name);

/* A whole number from `least` to `most`, of `len` digits. 0, or -EINVAL. */
int rlb_word_number(const char *text, size_t len, uint64_t least, uint64_t most, uint64_t *number);

/* "500ms", "10s", "5min", "1h30m": from 1 ns to RL_WINDOW_MAX. 0, or -EINVAL. */
int rlb_word_duration(const char *text, uint64_t *ns);

/*
 * A word that begins a limit: a rate, which may be nginx's "10r/s", or "in_flight=3". 1; 0: another
 * word; -EINVAL.
 */
int rlb_word_begins(const char *word, struct rlb_limit *l);

/* A word behind a limit. 0, or -EINVAL: `text` is a sentence that begins with its name. */
int rlb_word_of_limit(const char *word, struct rlb_limit *l, char text[RLB_TEXT_SIZE]);

/* A word of a segment. As rlb_option_set(). */
int rlb_word_of_segment(const char *word, struct rl_options *o, char text[RLB_TEXT_SIZE]);

#pragma GCC visibility pop

#endif
