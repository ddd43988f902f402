/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_TEXT_H
#define RL_APACHE_TEXT_H

/* Numbers and limits of directives, and what is said of them. */

#include "conf.h"

/* "file:line" of the directive. */
const char *place_of(cmd_parms *cmd);

/* The complaint about a word of it; `why` is a sentence, or "". */
const char *bad_word(cmd_parms *cmd, const char *word, const char *why);

/* A whole number from `least` to `most`. 1 stored, 0 it is none. */
int read_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/*
 * The limits that the words say: "20/s 10000/day hard=off", "in_flight=3". NULL, or what is wrong.
 */
const char *read_limits(apr_pool_t *pool, struct rule *rule, int count, char *const words[]);

/* What the words have not said, once the segment's ring is known. NULL, or what is wrong. */
const char *complete_limits(apr_pool_t *pool, struct rule *rule);

#endif
