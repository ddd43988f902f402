/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

/* The name nearest to `word`, at most two typing errors away; NULL if none is. `names`
 * ends with NULL. */
const char *suggest(const char *word, const char *const *names);

#endif
