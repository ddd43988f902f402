/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

/* The words by which files, command lines, output and JSON know what rl.h has an enum for. */

#include <rl.h>
#include <stdbool.h>

extern const char *const algorithm_names[]; /* by enum rl_algorithm; ends with NULL */
extern const char *const on_full_names[];   /* by enum rl_on_full; likewise */

const char *algorithm_name(enum rl_algorithm algorithm);
const char *on_full_name(enum rl_on_full on_full);

/* The place of `word` in a list that ends with NULL, or -1. */
int name_find(const char *const *names, const char *word);

/* False if there is no algorithm of that name. */
bool algorithm_find(const char *name, enum rl_algorithm *algorithm);

#endif
