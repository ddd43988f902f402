/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLR_ERROR_H
#define RLR_ERROR_H

/* RL::Error. Each of these raises it. */

#include <ruby.h>

NORETURN(void rlr_raise(int error, const char *format, ...));
NORETURN(void rlr_raise_text(int error, const char *text));

#endif
