/* SPDX-License-Identifier: BSD-2-Clause */
#include "audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "testing.h"

static int
note(enum rl_fault fault, uint64_t at, void *arg)
{
	struct audit *a = arg;

	snprintf(a->fault, sizeof a->fault, "%s %" PRIu64 ": %s",
	         fault < RL_FAULT_REFERENCE ? "slot"
	         : fault < RL_FAULT_LIMIT   ? "rule"
	                                    : "limit",
	         at, rl_fault_text(fault));
	return 1;
}

bool
audit_segment(struct rl *rl, struct audit *a)
{
	int result = rl_audit(rl, note, a, &a->seen);

	if (result < 0)
		snprintf(a->fault, sizeof a->fault, "%s", rl_strerror(result));
	else if (result == 0 && a->seen.unsettled > 0)
		snprintf(a->fault, sizeof a->fault, "a slot changes, though nobody works");
	return result == 0 && a->seen.unsettled == 0;
}

void
audit_assert_whole(struct rl *rl)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("%s", a.fault);
}
