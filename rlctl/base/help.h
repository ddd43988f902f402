/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_HELP_H
#define RLCTL_HELP_H

#include "base/command.h"

void help_all(const struct command *verbs);
void help_command(const struct command *command);

/* Of a program that has no verbs, and is one command. */
void help_program(const struct context *context);

#endif
