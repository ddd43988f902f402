/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PART_H
#define RL_PART_H

/*
 * One limit of a request: what it is asked, where its key is counted, what was seen there, and what
 * is planned.
 */

#include "rule/address.h"
#include "rule/policy.h"
#include "segment/view.h"
#include "shared/budget.h"
#include "table/table.h"

enum rl_charged {
	RL_NOT_CHARGED,
	RL_CHARGED_AS_PLANNED, /* and what is said of it is still its plan */
	RL_CHARGED_ANEW,
};

struct rl_part {
	struct rl *rl; /* The same for all parts of an item that begin: */
	const struct rl_segment *segment;
	uint64_t now_ns;
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint64_t asked;           /* what the item costs; 0: a peek */
	uint32_t cost;            /* at least 1 */
	int rule;                 /* whose limit, and whose statistics */
	struct rl_charge *charge; /* NULL, or to be filled if it is charged */
	struct rl_slot slot;      /* where it was decided, if slot.tag is not 0 */
	uint32_t tier; /* the capacity that it has brought along for this limit; 0: none */
	int planned;   /* what rl_part_look() has said of it, as long as that holds */
	enum rl_charged charged; /* of a request of several limits */

	unsigned index; /* which of its rule's limits */
	const struct rl_compiled *limit;
	struct rl_quota quota;
	uint64_t hash; /* of the key, whatever the limit */
	struct rl_candidates candidates;
	struct rl_budget *budget; /* set by who decides, and so are these: */
	struct rl_result *result; /* NULL: for the verdict alone */
	bool is_asked;            /* the result is wanted, not just what is counted of it */

	struct rl_view view; /* what was seen at the slot */
	struct rl_plan plan; /* and what is to be done about it */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* What its limit is asked of the view. */
static inline __attribute__((always_inline)) struct rl_ask
rl_part_ask(const struct rl_part *p)
{
	return (struct rl_ask){.l = &p->limit->limiter,
	                       .q = &p->quota,
	                       .v = &p->view,
	                       .cost = p->cost,
	                       .is_asked = p->is_asked,
	                       .now_ns = p->now_ns};
}

/* Is its key's name not known, but only its hash? */
static inline bool
rl_part_is_nameless(const struct rl_part *p)
{
	return p->key && p->key_len == 0;
}

#define RL_PART_BEGUN offsetof(struct rl_part, index)

/* In a charge, the limit's row, and above it the number of the table that it was made in. */
#define RL_CHARGE_LIMIT_BITS 10
#define RL_CHARGE_TABLES 64

/* There is no decision yet: somebody else was quicker, or the slot is no longer the key's. */
#define RL_AGAIN (-1)

_Static_assert(RL_LIMIT_ROWS_MAX < 1 << RL_CHARGE_LIMIT_BITS, "a row fits");
_Static_assert(sizeof(struct rl_charge) == 32, "callers keep them");
_Static_assert(sizeof(struct rl_hold) == 32, "as large as a charge");
_Static_assert(sizeof(struct rl_result) == 64, "a line");

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

static inline uint64_t
rl_until(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == UINT64_MAX) /* an epoch that only damage makes */
		return RL_NEVER_NS;
	return then_ns > now_ns ? then_ns - now_ns : 0;
}

static inline void
rl_result_clear(struct rl_result *r)
{
	*r = (struct rl_result){.verdict = RL_ALLOWED};
}

static inline bool
rl_result_undecided(struct rl_result *r, int error)
{
	r->verdict = RL_UNDECIDED;
	r->error = error;
	return false;
}

/* What a limit with that window says at now_ns. */
static inline __attribute__((always_inline)) void
rl_result_fill(struct rl_result *r, enum rl_verdict verdict, unsigned index, uint64_t window_ns,
               const struct rl_decision *d, uint64_t now_ns)
{
	r->verdict = verdict;
	r->error = 0;
	r->reason = RL_BY_LIMIT;
	r->index = index;
	r->limit = d->limit;
	r->remaining = d->remaining;
	r->used = d->limit - d->remaining + d->beyond;
	r->is_shadow_denied = 0;
	r->retry_after_ns = 0;
	r->reset_after_ns = rl_until(d->reset_at_ns, now_ns);
	r->delay_ns = verdict == RL_ALLOWED ? d->delay_ns : 0;
	r->window_ns = window_ns;
}

/* The same of a part, with when it may be asked again. Returns the verdict. */
static inline __attribute__((always_inline)) enum rl_verdict
rl_part_answer(const struct rl_part *p, const struct rl_decision *d, enum rl_verdict verdict)
{
	struct rl_result *r = p->result;

	if (!r || (verdict == RL_ALLOWED && !p->is_asked))
		return verdict;
	rl_result_fill(r, verdict, p->index, p->limit->limiter.window_ns, d, p->now_ns);
	if (verdict == RL_DENIED)
		r->retry_after_ns = rl_until(d->retry_at_ns, p->now_ns);
	else if (verdict == RL_NEVER)
		r->retry_after_ns = RL_NEVER_NS;
	return verdict;
}

/*
 * The verdict about p->plan.decision, which is a peek's: RL_NEVER is of a cost that is never
 * admitted.
 */
static inline enum rl_verdict
rl_part_peeked(const struct rl_part *p)
{
	if (p->cost > p->plan.decision.limit)
		return RL_NEVER;
	return p->plan.decision.admits ? RL_ALLOWED : RL_DENIED;
}

/* A shadow limit says what it would have done, and enforces nothing. Returns the verdict. */
static inline enum rl_verdict
rl_part_lift_shadow(const struct rl_part *p, enum rl_verdict verdict)
{
	if (!p->quota.is_shadow || verdict == RL_ALLOWED)
		return verdict;
	if (p->result) {
		p->result->is_shadow_denied = verdict != RL_UNDECIDED;
		p->result->verdict = RL_ALLOWED;
	}
	return RL_ALLOWED;
}

#endif
