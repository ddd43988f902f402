/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SINCE_CHANGE_H
#define RLCTL_SINCE_CHANGE_H

/* The file before and after one of the changes that 'rlctl config history' lists. */

#include <load/load.h>

#include "base/command.h"

struct since_change {
	const char *text; /* as --since-change has it; NULL: it was not given */
	struct config *before, *after;
	uint64_t at_ns; /* when it was made */
};

/* False after a message. To be freed in any case, but for what was taken out of it. */
bool since_change_read(const struct context *context, struct since_change *change);
void since_change_free(struct since_change *change);

#endif
