/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_DIGITS_H
#define CONFIG_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* Read decimal digits at *text and move *text behind them. False if there is none or the
 * value does not fit. */
bool number_read(const char **text, uint64_t *value);

#endif
