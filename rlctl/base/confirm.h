/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CONFIRM_H
#define RLCTL_CONFIRM_H

#include "base/command.h"

/*
 * True if the user agrees to what is asked: by --yes, or with y at the terminal. Without a
 * terminal nobody is asked, and --yes is needed. False after a message.
 */
bool confirm(const struct context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
