/* SPDX-License-Identifier: BSD-2-Clause */

#include <rl.h>

#include "command.h"
#include "output.h"

const char *
segment_name(const struct context *context)
{
	const char *name = option_value(context, "segment");

	return name ? name : "default";
}

static struct rl *
open_with(const struct context *context, unsigned flags)
{
	struct rl_options options = {.flags = RL_OPEN_EXISTING | flags};
	const char *name = segment_name(context);
	struct rl *rl;
	int error = rl_open(name, &options, &rl);

	if (error == 0)
		return rl;
	complain("segment '%s': %s", name, rl_strerror(error));
	return NULL;
}

struct rl *
open_segment(const struct context *context)
{
	return open_with(context, RL_OPEN_READONLY);
}

/* Whoever made it: the workers trust it already, and this is the tool to mend it with. */
struct rl *
open_segment_writable(const struct context *context)
{
	return open_with(context, RL_OPEN_ANY_OWNER);
}
