/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_DIRECTIVES_H
#define RL_APACHE_DIRECTIVES_H

#include "conf.h"

/* "file:line" of the directive. */
const char *place_of(cmd_parms *cmd);

/* The complaint about a word of it; `why` is a sentence, or "". */
const char *bad_word(cmd_parms *cmd, const char *word, const char *why);

/* segment.c: RLSegment. */
const char *set_segment(cmd_parms *cmd, void *section, int argc, char *const argv[]);

#endif
