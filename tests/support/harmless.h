/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HARMLESS_H
#define RL_HARMLESS_H

#include <stdbool.h>

#include "shared/layout.h"

/* The secret that nobody is to be told from now on: the hash key of that header. */
void harmless_except(const struct rl_header *header);

/* False for a line that has what a terminal would obey. */
bool is_plain(const char *line);

/* ... or the secret, or a sanitizer's report. */
bool is_harmless(const char *line);

#endif
