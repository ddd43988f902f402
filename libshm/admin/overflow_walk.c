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

#define PPM 1000000

struct look {
	const struct rl_segment *segment;
	const struct rl_entry_limit *known;
	struct rl_ask ask; /* for a request of cost 1 */
	uint64_t denied;   /* of RL_OVERFLOW_PAIRS keys of each overflow counter */
};

/* What counts of a key with these two lanes, and what it is told. False: nothing counts. */
static bool
peek(struct look *look, uint32_t index, uint32_t one, uint32_t other, struct rl_overflow *c,
     struct rl_decision *d)
{
	struct rl_view v;

	if (!rl_overflow_load(look->segment, look->known->limit,
	                      rl_overflow_place(index, one | other << 3), c) ||
	    !c->counts)
		return false;
	v = rl_overflow_view(c);
	look->ask.v = &v;
	rl_limiter_peek(&look->ask, d);
	return true;
}

/* Has a key with both lanes no less than with one of them? Then it is told the same. */
static bool
is_ordered(const struct rl_limiter *l, struct rl_u128 a, struct rl_u128 b)
{
	struct rl_overflow_parts one, other;

	if (rl_u128_equal(a, b))
		return true;
	one = rl_overflow_parts_of(l, a);
	other = rl_overflow_parts_of(l, b);
	return (one.cur <= other.cur && one.sum <= other.sum) ||
	       (one.cur >= other.cur && one.sum >= other.sum);
}

/*
 * How many of the keys are denied: those whose lanes both deny, unless the lesser count of each
 * epoch is another lane's.
 */
static uint32_t
count_denied(struct look *look, uint32_t index, uint32_t full,
             const struct rl_u128 counts[RL_OVERFLOW_LANES])
{
	uint32_t denied = 0;

	for (uint32_t i = 0; i < RL_OVERFLOW_LANES * RL_OVERFLOW_LANES; i++) {
		uint32_t one = i % RL_OVERFLOW_LANES, other = i / RL_OVERFLOW_LANES;
		struct rl_overflow c;
		struct rl_decision d;

		if (one < other && (full >> one & full >> other & 1) &&
		    (is_ordered(look->ask.l, counts[one], counts[other]) ||
		     (peek(look, index, one, other, &c, &d) && !d.admits)))
			denied += rl_overflow_keys_of(one, other);
	}
	return denied;
}

/*
 * An overflow counter by its lanes, each as if it were both of a key, to find whether one is in
 * use; then by the pairs that keys have.
 */
static void
add_overflow(struct look *look, uint32_t index, struct rl_overflow_info *info)
{
	struct rl_u128 counts[RL_OVERFLOW_LANES];
	uint32_t full = 0, used, most = 0, denied;

	for (uint32_t lane = 0; lane < RL_OVERFLOW_LANES; lane++) {
		struct rl_overflow c;
		struct rl_decision d;

		if (!peek(look, index, lane, lane, &c, &d))
			return;
		counts[lane] = c.count;
		used = rl_overflow_limited(rl_decision_used(&d));
		most = used > most ? used : most;
		full |= (uint32_t)(used > 0 && !d.admits) << lane;
	}
	denied = count_denied(look, index, full, counts);
	look->denied += denied;
	info->used_most = most > info->used_most ? most : info->used_most;
	info->cells_used += most > 0;
	info->cells_full += denied == RL_OVERFLOW_PAIRS;
}

static void
add_set(struct look *look, uint32_t number, struct rl_overflow_info *info)
{
	uint32_t cells = look->segment->geometry.cells;
	struct rl_set set;
	uint64_t until_ns;

	if (!rl_sets_nth(look->segment, look->known->limit, number, &set))
		return;
	info->cells += cells;
	until_ns = rl_sets_until(&set);
	if (until_ns <= look->ask.now_ns)
		return;
	if (until_ns > info->until_ns)
		info->until_ns = until_ns;
	for (uint32_t i = number * cells; i < (number + 1) * cells; i++)
		add_overflow(look, i, info);
}

static void
fill(const struct rl_segment *s, const struct rl_entry_limit *known, uint64_t now_ns,
     struct rl_overflow_info *info)
{
	const struct rl_quota quota = rl_overflow_quota(&known->limit->limiter, &known->quota);
	struct look look = {
		.segment = s,
		.known = known,
		.ask = {.l = &known->limit->overflow, .q = &quota, .cost = 1, .now_ns = now_ns}};

	info->rule = known->rule;
	info->limit = known->index;
	info->capacity = known->most;
	for (uint32_t i = 0; i < rl_sets_count(s, known->limit); i++)
		add_set(&look, i, info);
	if (info->cells > 0)
		info->denied_ppm =
			(uint32_t)(look.denied * PPM / (RL_OVERFLOW_PAIRS * (uint64_t)info->cells));
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
