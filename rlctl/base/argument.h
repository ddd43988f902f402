/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ARGUMENT_H
#define RLCTL_ARGUMENT_H

#include "base/command.h"

struct argument_text {
	char text[160];
};

/*
 * What an option takes, as people read it: "" for nothing, and for ALGORITHM the names there are,
 * as in "sliding_window|fixed_window".
 */
struct argument_text option_argument(const struct command_option *option);

#endif
