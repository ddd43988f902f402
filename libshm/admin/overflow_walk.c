/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overflow area as people and tools see it: by limit, how many of its overflow counters count
 * something. Each limit that has a set is looked at once, and each set belongs to one limit at
 * most, whatever the bytes say: so no more than all overflow counters are read. Nothing is written.
 */
#include "admin/entry.h"
#include "algorithm/overflow_count.h"
#include "algorithm/overflow_word.h"
#include "overflow/overflow.h"
#include "rl_admin.h"

/*
 * An overflow counter by its lanes, each as if it were both of a key: it is in use if one is, and
 * full if all are.
 */
static void
add_overflow(const struct rl_segment *s, const struct rl_entry_limit *known, uint32_t index,
             const struct rl_quota *quota, uint64_t now_ns, struct rl_overflow_info *info)
{
	struct rl_ask ask = {.l = &known->limit->overflow, .q = quota, .cost = 1, .now_ns = now_ns};
	bool is_used = false, admits = false;
	uint32_t used;

	for (uint32_t lane = 0; lane < RL_OVERFLOW_LANES; lane++) {
		struct rl_overflow c;
		struct rl_decision d;
		struct rl_view v;

		if (!rl_overflow_load(s, known->limit, rl_overflow_place(index, lane | lane << 3),
		                      &c) ||
		    !c.counts)
			return;
		v = rl_overflow_view(&c);
		ask.v = &v;
		rl_limiter_peek(&ask, &d);
		is_used = is_used || rl_decision_used(&d) > 0;
		admits = admits || d.admits;
		used = rl_overflow_limited(rl_decision_used(&d));
		info->used_most = used > info->used_most ? used : info->used_most;
	}
	info->cells_used += is_used;
	info->cells_full += is_used && !admits;
}

static void
add_set(const struct rl_segment *s, const struct rl_entry_limit *known, uint32_t number,
        const struct rl_quota *quota, uint64_t now_ns, struct rl_overflow_info *info)
{
	uint32_t cells = s->geometry.cells;
	struct rl_set set;
	uint64_t until_ns;

	if (!rl_sets_nth(s, known->limit, number, &set))
		return;
	info->cells += cells;
	until_ns = rl_sets_until(&set);
	if (until_ns <= now_ns)
		return;
	if (until_ns > info->until_ns)
		info->until_ns = until_ns;
	for (uint32_t i = number * cells; i < (number + 1) * cells; i++)
		add_overflow(s, known, i, quota, now_ns, info);
}

static void
fill(const struct rl_segment *s, const struct rl_entry_limit *known, uint64_t now_ns,
     struct rl_overflow_info *info)
{
	const struct rl_quota quota = rl_overflow_quota(&known->limit->limiter, &known->quota);

	info->rule = known->rule;
	info->limit = known->index;
	info->capacity = known->most;
	for (uint32_t i = 0; i < rl_sets_count(s, known->limit); i++)
		add_set(s, known, i, &quota, now_ns, info);
}

/* False: the limit has no overflow counters that count anything. */
static bool
look(struct rl *rl, int id, uint64_t now_ns, struct rl_overflow_info *info)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_entry_limit known;

	*info = (struct rl_overflow_info){.rule = -1};
	if (rl_atomic_load_relaxed(&s->limits[id].overflow_set) == 0)
		return false;
	rl_entry_limit(rl, id, now_ns, &known);
	if (!known.limit || !known.limit->has_overflow)
		return false;
	fill(s, &known, now_ns, info);
	return info->until_ns > now_ns;
}

int
rl_overflow_walk(struct rl *rl, uint64_t now_ns,
                 int (*visit)(const struct rl_overflow_info *info, void *arg), void *arg)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t now = rl_clamp_now(now_ns);
	struct rl_overflow_info info;
	int result = 0;

	if (!rl_sets_are_used(s, now))
		return 0;
	for (uint32_t id = 0; id < s->geometry.limits && result == 0; id++)
		if (look(rl, (int)id, now, &info))
			result = visit(&info, arg);
	return result;
}
