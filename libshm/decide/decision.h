/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECISION_H
#define RL_DECISION_H

#include "rule/address.h"
#include "rule/handle.h"
#include "segment/view.h"
#include "shared/budget.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

/* One limit of one request, made ready: 1 <= cost, quota as looked up for it. */
struct rl_request {
	struct rl *rl;
	const struct rl_compiled *limit;
	int rule;        /* whose limit, and whose statistics */
	unsigned index;  /* which of its limits */
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint32_t cost;
	struct rl_quota quota;
	uint64_t now_ns;
	struct rl_candidates candidates;
	struct rl_slot slot;      /* where a denial was seen, if slot.tag is not 0 */
	struct rl_budget *budget; /* set by who decides or looks */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* For deciding so many limits. */
static inline struct rl_budget
rl_decision_budget(const struct rl *rl, unsigned limits)
{
	return (struct rl_budget){RL_DECIDE_STEPS +
	                          limits * RL_RING_TRIES * rl->segment.geometry.ring};
}

/* The candidate slots of the key under a limit; the cache is told to expect it. */
static inline void
rl_request_candidates(const struct rl *rl, const struct rl_compiled *limit, const void *key,
                      size_t key_len, struct rl_candidates *candidates)
{
	struct rl_hash hash = rl_hash_rest(limit->hash, key, key_len);

	*candidates = rl_table_candidates(&rl->segment.table, limit->id, hash);
	rl_table_prefetch(&rl->segment.table, candidates);
}

/* Decide and charge a cost <= limit. Fills *result. */
void rl_decide(struct rl_request *rq, struct rl_result *result);

/* Decide about rq->cost, and write nothing. Fills *result. */
void rl_peek_limit(struct rl_request *rq, struct rl_result *result);

/* The answer to `rq` if that is the decision. */
void rl_answer(const struct rl_request *rq, const struct rl_decision *decision,
               struct rl_result *result);

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
rl_answer_charged(const struct rl_request *rq, uint32_t cost, struct rl_slot slot,
                  const struct rl_plan *plan, struct rl_result *r)
{
	rl_fill_result(rq, &plan->decision, r);
	r->verdict = RL_ALLOWED;
	r->delay_ns = plan->decision.delay_ns;
	r->charges = 1;
	r->charge[0] = (struct rl_charge){
		.tag = slot.tag,
		.epoch = plan->charge_id,
		.slot = (uint32_t)slot.index,
		.cost = cost,
		.capacity = rq->quota.capacity,
		.memory = plan->memory,
	};
}

#endif
