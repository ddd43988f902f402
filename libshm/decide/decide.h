/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECIDE_H
#define RL_DECIDE_H

/*
 * Deciding about one limit: where table and algorithm meet. The journey of a key: find its slot,
 * load the state, ask the arithmetic what to do, and do it with one CAS16; if somebody else was
 * quicker, again from the find. What most requests meet is inline, so that it stays in registers:
 * a window that only has to add, or that one sub-bucket has used up. All else is a call away.
 */

#include "rule/address.h"
#include "rule/policy.h"
#include "segment/view.h"
#include "shared/budget.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

enum rl_mode {
	RL_CHARGE,
	RL_PEEK, /* writes nothing */
};

/* One limit of one request, made ready: quota as looked up for it. */
struct rl_request {
	struct rl *rl;
	const struct rl_compiled *limit;
	int rule;        /* whose limit, and whose statistics */
	unsigned index;  /* which of its limits */
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint32_t cost; /* at least 1 */
	bool is_asked; /* for more than the verdict */
	struct rl_quota quota;
	uint64_t now_ns;
	struct rl_candidates candidates;
	struct rl_slot slot;      /* where a denial was seen, if slot.tag is not 0 */
	struct rl_budget *budget; /* set by who decides */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* For deciding so many limits. */
static inline struct rl_budget
rl_decision_budget(const struct rl *rl, unsigned limits)
{
	return (struct rl_budget){RL_DECIDE_STEPS +
	                          limits * RL_RING_TRIES * rl->segment.geometry.ring};
}

/* The candidate slots of a key's hash under a limit; the cache is told to expect them. */
static inline void
rl_request_candidates(const struct rl *rl, const struct rl_compiled *limit, uint64_t hash,
                      struct rl_candidates *candidates)
{
	*candidates = rl_table_candidates(&rl->segment.table, limit->id, hash ^ limit->mix);
	rl_table_prefetch(&rl->segment.table, candidates);
}

/*
 * Decide about a cost, and charge it if that is the mode; cost 0 is a peek at 1. Fills *result, which
 * is clear, and returns the verdict: what the limit says. See rl_request_lift_shadow().
 */
enum rl_verdict rl_decide(struct rl_request *rq, uint64_t cost, enum rl_mode mode,
                          struct rl_result *result);

/* The answer to `rq` if that is the decision. */
void rl_answer(const struct rl_request *rq, const struct rl_decision *decision,
               struct rl_result *result);

/* All that rl_decide_slot() is not inline for; the same contract. */
bool rl_decide_rest(const struct rl_request *rq, struct rl_slot slot, const struct rl_view *view,
                    enum rl_seen seen, enum rl_mode mode, struct rl_result *result);

_Static_assert(sizeof(struct rl_charge) == 32, "a caller's result keeps its size");

static inline uint64_t
rl_until(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == UINT64_MAX) /* an epoch that only damage makes */
		return RL_NEVER_NS;
	return then_ns > now_ns ? then_ns - now_ns : 0;
}

static inline void
rl_fill_result(const struct rl_request *rq, const struct rl_decision *d, struct rl_result *r)
{
	r->index = rq->index;
	r->limit = d->limit;
	r->remaining = d->remaining;
	r->reset_after_ns = rl_until(d->reset_at_ns, rq->now_ns);
}

/* The same, the charge that was planned being made. */
static inline void
rl_answer_charged(const struct rl_request *rq, struct rl_slot slot, const struct rl_plan *plan,
                  struct rl_result *r)
{
	rl_fill_result(rq, &plan->decision, r);
	r->verdict = RL_ALLOWED;
	r->delay_ns = plan->decision.delay_ns;
	r->charges = 1;
	r->charge[0] = (struct rl_charge){
		.tag = slot.tag,
		.epoch = plan->charge_id,
		.slot = (uint32_t)slot.index,
		.cost = rq->cost,
		.capacity = rq->quota.capacity,
		.memory = plan->memory,
	};
}

static inline void
rl_answer_denied(const struct rl_request *rq, const struct rl_decision *d, struct rl_result *r)
{
	rl_fill_result(rq, d, r);
	r->verdict = RL_DENIED;
	r->retry_after_ns = rl_until(d->retry_at_ns, rq->now_ns);
}

/*
 * Decide by the state of a LIVE slot, 1 <= rq->cost <= limit, and charge it there: the only CAS that
 * does. False: nothing was decided; again from the find.
 */
static inline __attribute__((always_inline)) bool
rl_decide_slot(const struct rl_request *rq, struct rl_slot slot, enum rl_mode mode,
               struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;
	const struct rl_limiter *l = &rq->limit->limiter;
	struct rl_view v, copy;
	struct rl_request other;
	struct rl_plan plan;
	enum rl_seen seen = rl_view_load(s, slot, &v);

	if (seen == RL_SEEN && rl_limiter_is_window(l)) {
		if (mode == RL_CHARGE &&
		    rl_limiter_adds(l, &rq->quota, &v, rq->cost, rq->now_ns, &plan)) {
			if (!rl_atomic_cas16(rl_table_state(&s->table, slot.index), v.word,
			                     plan.next))
				return false;
			rl_answer_charged(rq, slot, &plan, r);
			return true;
		}
		if (rq->cost <= rq->quota.capacity &&
		    rl_limiter_is_used_up(l, &rq->quota, &v, rq->cost, rq->now_ns,
		                          &plan.decision)) {
			rl_answer_denied(rq, &plan.decision, r);
			return true;
		}
	}
	other = *rq; /* what is passed on does not stay in registers */
	copy = v;
	return rl_decide_rest(&other, slot, &copy, seen, mode, r);
}

#endif
