/* SPDX-License-Identifier: BSD-2-Clause */

#include <rl.h>

#include "command.h"
#include "output.h"

struct rl *
open_segment(const struct context *context)
{
	const char *name = option_value(context, "segment");
	struct rl_options options = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl *rl;
	int error = rl_open(name, &options, &rl);

	if (error == 0)
		return rl;
	complain("segment '%s': %s", name ? name : "default", rl_strerror(error));
	return NULL;
}
