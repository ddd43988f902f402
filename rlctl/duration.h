/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_DURATION_H
#define RLCTL_DURATION_H

#include <stdint.h>

/* A number and a unit, as "500ms", "10s", "5m", "1h" or "1d"; also us and ns. NULL, or in
 * a few words what is wrong with the text. */
const char *duration_parse(const char *text, uint64_t *ns);

struct duration_text {
	char text[32];
};

/* For people: exact in one unit where that is short, else rounded up to two units. */
struct duration_text duration_format(uint64_t ns);

#endif
