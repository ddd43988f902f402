/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_DURATION_H
#define CONFIG_DURATION_H

#include <stdint.h>

/*
 * Numbers and their units, the longest first: "500ms", "10s", "1.5h", "1h30m"; d, h, m, s, ms,
 * us and ns. A fraction must be whole nanoseconds. NULL, or in a few words what is wrong with
 * the text.
 */
const char *duration_parse(const char *text, uint64_t *ns);

struct duration_text {
	char text[32];
};

/* For people: exact in one unit where that is short, else rounded up to two units. */
struct duration_text duration_format(uint64_t ns);

/* Exact, in the longest unit that divides it: duration_parse() reads the same. */
struct duration_text duration_exact(uint64_t ns);

#endif
