/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/combine.h"

bool
rl_result_outranks(const struct rl_result *a, const struct rl_result *b)
{
	static const int rank[] = {
		[RL_ALLOWED] = 0, [RL_UNDECIDED] = 1, [RL_DENIED] = 2, [RL_NEVER] = 3};

	if (rank[a->verdict] != rank[b->verdict])
		return rank[a->verdict] > rank[b->verdict];
	if (a->verdict == RL_ALLOWED)
		return a->remaining < b->remaining;
	return a->retry_after_ns > b->retry_after_ns;
}

/* Does part a decide its item, rather than part b? A shadow does only among its like. */
static bool
decides(const struct rl_part *a, const struct rl_part *b)
{
	if (a->quota.is_shadow != b->quota.is_shadow)
		return b->quota.is_shadow;
	if (a->charged == RL_CHARGED_AS_PLANNED && b->charged == RL_CHARGED_AS_PLANNED)
		return a->plan.decision.remaining < b->plan.decision.remaining;
	return rl_result_outranks(rl_part_result(a), rl_part_result(b));
}

/* What any part of an item adds to its answer, whichever decides it. */
static void
add_to_answer(const struct rl_part *p, struct rl_result *r)
{
	bool is_unreported = p->charged == RL_CHARGED_AS_PLANNED;
	uint64_t delay_ns = is_unreported ? p->plan.decision.delay_ns : p->result->delay_ns;

	if (r->verdict == RL_ALLOWED && delay_ns > r->delay_ns)
		r->delay_ns = delay_ns;
	if (is_unreported)
		return;
	r->is_shadow_denied |= p->result->is_shadow_denied;
	r->error = r->error ? r->error : p->result->error;
}

const struct rl_part *
rl_parts_combine(const struct rl_part *first, const struct rl_part *end, struct rl_result *r)
{
	const struct rl_part *best = first;

	for (const struct rl_part *p = first + 1; p < end; p++)
		if (decides(p, best))
			best = p;
	*r = *rl_part_result(best);
	for (const struct rl_part *p = first; p < end; p++)
		add_to_answer(p, r);
	return best;
}
