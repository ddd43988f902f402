/* SPDX-License-Identifier: BSD-2-Clause */
#include "evict/admit.h"

#include "algorithm/counter.h"

#define ROOM 4  /* more free ones of 16: nobody is asked for more */
#define SHARE 3 /* of one rule, of what others' leave free */
#define WIDE 16 /* buckets */
#define WIDE_SLOTS (WIDE * RL_BUCKET_SLOTS)
#define WIDE_MOST 92 /* slots of these */
#define ADMIT_STEPS 256

bool
rl_admit_is_pinned_kind(const struct rl_compiled *limit)
{
	return limit->limiter.is_held || limit->limiter.algorithm == RL_COUNTER;
}

bool
rl_admit_is_pinned(const struct rl_candidate *c, uint64_t now_ns)
{
	if (!rl_candidate_has_count(c) || !c->is_in_force)
		return false;
	return rl_candidate_is_held(c) || (c->limit->limiter.algorithm == RL_COUNTER &&
	                                   !rl_counter_has_expired(c->view.word, now_ns));
}

/* As a rule the first bucket says that it is not. */
static bool
is_crowded(const struct rl_table *t, const struct rl_candidates *candidates)
{
	unsigned room = 0;

	for (unsigned line = 0; line < 2; line++) {
		const uint64_t *tags = rl_table_tag(t, candidates->first[line]);

		for (unsigned i = 0; i < RL_BUCKET_SLOTS && room <= ROOM; i++)
			room += rl_tag_is_free(rl_atomic_load(&tags[i]));
	}
	return room <= ROOM;
}

static bool
has_most_of_candidates(struct rl *rl, int rule, const struct rl_candidates *candidates,
                       uint64_t now_ns)
{
	unsigned own = 0, all = 0;
	struct rl_candidate c;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		if (!rl_admit_is_pinned(&c, now_ns))
			continue;
		all++;
		own += c.limit->rule == rule;
	}
	return own >= SHARE * (RL_CANDIDATES - all);
}

static bool
has_most_around(const struct rl_table *t, int limit, const struct rl_candidates *candidates)
{
	uint64_t slots = (uint64_t)t->buckets * RL_BUCKET_SLOTS, at = candidates->first[0];
	unsigned own = 0;

	for (unsigned i = 0; i < WIDE_SLOTS; i++, at = at + 1 < slots ? at + 1 : 0) {
		uint64_t tag = rl_atomic_load(rl_table_tag(t, at));

		own += rl_tag_status(tag) == RL_TAG_LIVE && rl_tag_limit(tag) == limit;
	}
	return own >= WIDE_MOST;
}

bool
rl_admit(struct rl *rl, const struct rl_compiled *limit, const struct rl_candidates *candidates,
         struct rl_budget *budget, uint64_t now_ns)
{
	const struct rl_table *t = &rl->segment.table;

	if (!rl_admit_is_pinned_kind(limit) || rl->segment.geometry.on_full != RL_FULL_RESERVE ||
	    t->buckets < WIDE || !is_crowded(t, candidates))
		return true;
	rl_budget_take(budget, ADMIT_STEPS);
	return !has_most_of_candidates(rl, limit->rule, candidates, now_ns) ||
	       !has_most_around(t, limit->id, candidates);
}
