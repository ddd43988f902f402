/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_COMBINE_H
#define RL_COMBINE_H

/* An item's answer from those of its limits. */

#include "decide/part.h"

/* What is said of a part of a request of several limits. */
static inline const struct rl_result *
rl_part_result(const struct rl_part *p)
{
	if (p->charged == RL_CHARGED_AS_PLANNED)
		rl_part_answer(p, &p->plan.decision, RL_ALLOWED);
	return p->result;
}

/* Does result a decide more than result b? */
bool rl_result_outranks(const struct rl_result *a, const struct rl_result *b);

/* Of one part or more, before `end`, in *result: returns that which decides. */
const struct rl_part *rl_parts_combine(const struct rl_part *first, const struct rl_part *end,
                                       struct rl_result *result);

#endif
