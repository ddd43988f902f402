/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_OPTIONS_H
#define RLCTL_OPTIONS_H

#include "base/command.h"

/*
 * Read global options, the verb, its options and its operands; options may come in any order after
 * the verb. Fills `context`; its command stays NULL if no verb is given. Where it has a command
 * already, the program is that, and no word is a verb. False after a message.
 */
bool options_parse(struct context *context, int argc, char **argv);

#endif
