/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_NUMBER_H
#define RLCTL_NUMBER_H

#include "text/digits.h"

/* The value of a text that is a number of at least `least` and at most `most`, and nothing
 * else. False after a message that begins with `what`. */
bool number_need(const char *what, const char *text, uint64_t least, uint64_t most,
                 uint64_t *value);

#endif
