/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/usual.h"

#include "decide/decide.h"
#include "decide/plan.h"
#include "rule/auto_ban.h"

static void
begin(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
      struct rl_result *result, const struct rl_compiled *limit, struct rl_slot slot,
      struct rl_part *p)
{
	p->rl = rl;
	p->segment = &rl->segment;
	p->limit = limit;
	p->index = 0;
	p->rule = rule;
	p->now_ns = now_ns;
	p->key = key;
	p->key_len = key_len;
	p->slot = slot;
	p->result = result;
}

static __attribute__((noinline, cold)) void
report(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
       const struct rl_compiled *limit, struct rl_slot slot, uint64_t retry_ns)
{
	struct rl_part p;

	begin(rl, rule, key, key_len, now_ns, NULL, limit, slot, &p);
	p.is_asked = true;
	rl_answered_report(&p, retry_ns);
}

int
rl_usual_denied(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                struct rl_result *result, const struct rl_compiled *limit, struct rl_slot slot,
                struct rl_decision denial)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t retry_ns = rl_until(denial.retry_at_ns, now_ns);

	if (result) {
		rl_result_fill(result, RL_DENIED, 0, limit->limiter.window_ns, &denial, now_ns);
		result->retry_after_ns = retry_ns;
	}
	rl_stats_add_denied(s, rule, 0);
	if (__builtin_expect(rl_record_count_denied(s, slot, now_ns), 0))
		report(rl, rule, key, key_len, now_ns, limit, slot, retry_ns);
	rl_auto_ban_denied(s, rule, key, key_len, now_ns);
	return RL_DENIED;
}

/* The slot, to look at once more. */
static struct rl_candidates
where(struct rl_slot slot)
{
	uint64_t first = slot.index / RL_BUCKET_SLOTS * RL_BUCKET_SLOTS;

	return (struct rl_candidates){.first = {first, first}, .key = slot.tag & RL_TAG_KEY_MASK};
}

/* What its state says, and no more than one step further. */
static int
plan_and_charge(struct rl_part *p)
{
	int decided;

	if (rl_view_load(p->segment, p->slot, &p->view) != RL_SEEN || p->view.is_zero)
		return RL_AGAIN;
	decided = rl_part_plan(p, RL_CHECK, p->quota.capacity);
	if (decided != RL_ALLOWED)
		return decided;
	return rl_part_is_one_step(p) ? rl_part_charge(p) : rl_decide_carry_out(p);
}

int
rl_usual_by_ring(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                 uint64_t now_ns, struct rl_result *result, const struct rl_compiled *limit,
                 uint32_t capacity, struct rl_slot slot)
{
	struct rl_budget budget = rl_decision_budget(&rl->segment, 1);
	struct rl_result unused;
	struct rl_part p;
	int decided;

	if (limit->limiter.is_shared)
		return RL_AGAIN;
	begin(rl, rule, key, key_len, rl_clamp_now(now_ns), result ? result : &unused, limit, slot,
	      &p);
	p.quota.capacity = capacity;
	p.quota.counts_denied = false;
	p.cost = (uint32_t)cost;
	p.candidates = where(slot);
	p.budget = &budget;
	p.charge = NULL;
	p.is_asked = result != NULL;
	decided = plan_and_charge(&p);
	if (decided == RL_ALLOWED)
		rl_stats_add(p.segment, rule, RL_COUNT_allowed);
	else if (decided == RL_DENIED)
		rl_answered_denied(&p, key, key_len);
	return decided;
}

void
rl_usual_wish(struct rl *rl, const void *key, size_t key_len, uint64_t hash,
              const struct rl_compiled *limit, struct rl_slot slot)
{
	struct rl_part p;

	p.segment = &rl->segment;
	p.limit = limit;
	p.key = key;
	p.key_len = key_len;
	p.hash = hash;
	p.slot = slot;
	rl_share_ask(&p);
}

/* The slot was seen, and its state counts. */
static inline __attribute__((always_inline)) int
peek_at(const struct rl_segment *s, const struct rl_usual *u, uint64_t now_ns,
        struct rl_result *result)
{
	const struct rl_limiter *l = &u->limit->limiter;
	struct rl_decision d = {.limit = u->quota.capacity};
	struct rl_view v;
	struct rl_ask ask = {.l = l, .q = &u->quota, .v = &v, .cost = 1, .now_ns = now_ns};
	enum rl_verdict verdict;

	if (rl_view_load(s, u->slot, &v) != RL_SEEN || v.is_zero)
		return RL_AGAIN;
	l->ops->peek(&ask, &d);
	if (!rl_view_holds(s, l, u->slot, &v))
		return RL_AGAIN;
	verdict = d.admits ? RL_ALLOWED : RL_DENIED;
	if (result) {
		rl_result_fill(result, verdict, 0, l->window_ns, &d, now_ns);
		if (!d.admits)
			result->retry_after_ns = rl_until(d.retry_at_ns, now_ns);
	}
	return (int)verdict;
}

/* The key has no slot in a table that was filled before. */
static int
peek_absent(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
            struct rl_result *result, const struct rl_usual *u)
{
	struct rl_slot none = {.tag = 0};
	struct rl_part p;

	begin(rl, rule, key, key_len, now_ns, result, u->limit, none, &p);
	p.quota = u->quota;
	p.cost = 1;
	p.is_asked = true;
	return rl_decide_absent(&p);
}

int
rl_usual_peek(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
              struct rl_result *result)
{
	const struct rl_table *table = &rl->segment.table;
	bool is_filling = rl_table_is_filling(table); /* before the look: it may end */
	struct rl_policy_look look;
	struct rl_usual u;

	if (!rl_usual_make(rl, rule, key, key_len, 1, now_ns, &look, &u) ||
	    look.steps & RL_POLICY_SHARED)
		return RL_AGAIN;
	rl_table_prefetch(table, &u.candidates);
	if (rl_usual_find(rl, now_ns, &u))
		return peek_at(&rl->segment, &u, now_ns, result);
	return is_filling ? RL_AGAIN : peek_absent(rl, rule, key, key_len, now_ns, result, &u);
}
