/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OPERAND_H
#define RLCTL_OPERAND_H

/* KEY of a command line, where it may be a pattern. */

#include <model/pattern_text.h>

#include "base/command.h"

/* What KEY means, or with --exact that very key. False after a message. */
bool pattern_operand(const struct context *context, struct pattern_text *out);

#endif
