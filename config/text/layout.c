/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/layout.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>

void
other_layout(const char *segment, struct other_layout *other)
{
	const struct rl_options o = {.flags = RL_OPEN_ANY_OWNER};
	char revision[32] = "";
	struct rl_place p;

	rl_place(segment, &o, &p);
	other->is_released = p.layout != p.own_layout;
	if (!other->is_released)
		snprintf(revision, sizeof revision, ", revision %" PRIu32, p.revision);
	snprintf(other->text, sizeof other->text,
	         "it has layout %" PRIu32 "%s, and this rl has layout %" PRIu32
	         ", revision %" PRIu32,
	         p.layout, revision, p.own_layout, p.own_revision);
}
