/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_HELP_H
#define RLCTL_HELP_H

#include "base/command.h"

void help_all(const struct command *verbs);
void help_command(const struct command *command);

#endif
