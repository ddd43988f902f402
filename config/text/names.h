/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

/* The words by which files, command lines, output and JSON know what rl.h has an enum for. */

#include <rl_admin.h>
#include <stdbool.h>

/* By enum rl_on_full, rl_scope and rl_away; each ends with NULL. */
extern const char *const on_full_names[], *const scope_names[], *const away_names[];

/* rl_algorithm_info(), but never NULL: one that there is not is called "unknown". */
const struct rl_algorithm_info *algorithm_info(enum rl_algorithm algorithm);

#define ALGORITHM_NAMES_MAX 16

/* The names of all algorithms that have one of these flags, by enum rl_algorithm and with a NULL at
 * the end; with ~0U, of all. */
void algorithm_names(unsigned flags, const char *names[static ALGORITHM_NAMES_MAX + 1]);

const char *algorithm_name(enum rl_algorithm algorithm);
const char *on_full_name(enum rl_on_full on_full);
const char *scope_name(unsigned scope);
const char *away_name(unsigned away);

/* The place of `word` in a list that ends with NULL, or -1. */
int name_find(const char *const *names, const char *word);

/* False if there is no algorithm of that name. */
bool algorithm_find(const char *name, enum rl_algorithm *algorithm);

#endif
