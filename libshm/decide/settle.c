/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request has really cost, once that is known. What was charged beyond it goes back to where
 * it was charged; what it cost beyond that is a debt, which is charged now, whatever there is.
 */
#include <errno.h>
#include <string.h>

#include "decide/decide.h"
#include "decide/refund.h"
#include "decide/release.h"
#include "decide/request.h"
#include "move/follow.h"
#include "segment/stats.h"

#define TRIES 1000

/*
 * The part that a debt is of. Its key's name is not known, and of its network what places it if it
 * was charged to an overflow counter.
 */
static void
part_of(struct rl *rl, const struct rl_compiled *limit, const struct rl_charge *charge,
        uint64_t now_ns, struct rl_part *p)
{
	*p = (struct rl_part){
		.rl = rl,
		.segment = &rl->segment,
		.now_ns = now_ns,
		.key = "",
		.rule = limit->rule,
		.limit = limit,
		.hash = charge->key ^ limit->salt,
		.is_asked = true,
	};
	if (rl_charge_is_of_overflow(charge))
		memcpy(p->network, &charge->epoch, sizeof charge->epoch);
	rl_policy_of_limit(p->segment, limit->id, &p->quota, &p->index);
	p->quota.capacity = charge->capacity;
	rl_quota_owe(&limit->limiter, &p->quota);
	rl_policy_share(p->segment, limit, now_ns, &p->quota);
	rl_part_candidates(&p->segment->table, limit, p->hash, &p->candidates);
}

/* Charge so many units, or as many as can be counted: how many, or a negative error. */
static int
owe_part(struct rl_part *p, uint32_t units)
{
	struct rl_budget budget = rl_decision_budget(p->segment, 1);
	struct rl_result r;

	p->budget = &budget;
	p->result = &r;
	units = rl_lesser(units, rl_limiter_limit(&p->limit->limiter, &p->quota));
	for (int tries = 0; units > 0 && tries < TRIES; tries++) {
		enum rl_verdict verdict = rl_part_decide(p, units, RL_CHECK);

		if (r.error < 0 || verdict == RL_ALLOWED)
			return r.error < 0 ? r.error : (int)units;
		units = rl_lesser(units, r.remaining);
	}
	return units > 0 ? -EBUSY : 0;
}

/* What has become of a charge. */
struct units {
	uint32_t given;
	uint32_t owed;
	uint32_t late; /* or more than can be counted */
};

static void
count(const struct rl_segment *s, const struct rl_compiled *limit, const struct rl_charge *charge,
      const struct units *u)
{
	uint64_t *counter = rl_stats_at(s, rl_stats_stripe(s), limit->rule)->counter;

	rl_atomic_add(&counter[RL_COUNT_settle_charged], charge->cost);
	if (u->given > 0)
		rl_atomic_add(&counter[RL_COUNT_settle_given], u->given);
	if (u->owed > 0)
		rl_atomic_add(&counter[RL_COUNT_settle_debt], u->owed);
	if (u->late > 0)
		rl_atomic_add(&counter[RL_COUNT_settle_late], u->late);
}

/* What the request has cost beyond its charge. 0, or a negative error. */
static int
owe(struct rl *rl, const struct rl_compiled *limit, const struct rl_charge *charge, uint32_t units,
    uint64_t now_ns, struct units *u)
{
	struct rl_part p;
	int done;

	part_of(rl, limit, charge, now_ns, &p);
	done = owe_part(&p, units);
	u->owed = done > 0 ? (uint32_t)done : 0;
	u->late = units - u->owed;
	return done < 0 ? done : 0;
}

/* 1: what counts has changed; 0, also if the limit is in force no more; or a negative error. */
static int
settle_charge(struct rl *rl, const struct rl_compiled *limit, const struct rl_charge *charge,
              uint32_t actual, uint64_t now_ns)
{
	struct units u = {0};
	int error = 0;

	if (!rl_charge_is_sound(charge))
		return 0;
	if (!limit)
		return rl_handle_no_limit(rl, rl_charge_row(charge)) == -ENOMEM ? -ENOMEM : 0;
	if (limit->limiter.is_held) /* of what is in flight, it has the row by now */
		return 0;
	if (charge->cost < actual) {
		error = owe(rl, limit, charge, actual - charge->cost, now_ns, &u);
	} else if (charge->cost > actual) {
		u.given = rl_refund_units(rl, charge, charge->cost - actual, now_ns);
		u.late = charge->cost - actual - u.given;
	}
	if (error == 0 || error == -ENOSPC)
		count(&rl->segment, limit, charge, &u);
	return error < 0 ? error : u.given > 0 || u.owed > 0;
}

/* What is in flight, and a request that counts as one, is so whatever it costs. */
static bool
has_no_cost(const struct rl_compiled *limit, const struct rl_charge *charge)
{
	return rl_charge_is_held(charge) || (limit && limit->limiter.counts_requests);
}

/* Each charge by itself: to what it has cost, or as if there had been no request. */
static int
for_each(struct rl *rl, struct rl_charges *charges, uint32_t actual, bool is_settled)
{
	unsigned count = rl_lesser(charges->count, RL_LIMITS_MAX);
	uint64_t now_ns = rl_request_now(rl, charges->now_ns);
	int most = 0, error = 0;

	rl = rl_here(rl);
	if (!rl->segment.is_writable)
		return -EROFS;
	charges->count = 0;
	for (unsigned i = 0; i < count; i++) {
		struct rl_charge charge = charges->charge[i];
		const struct rl_compiled *limit =
			is_settled ? rl_handle_limit(rl, rl_charge_row(&charge)) : NULL;
		bool is_left = is_settled && has_no_cost(limit, &charge);
		int done = is_left      ? 0
		           : is_settled ? settle_charge(rl, limit, &charge, actual, now_ns)
		                        : rl_refund_charge(rl, &charge, now_ns);

		if (is_left || (done < 0 && done != -ENOSPC)) /* for another call */
			charges->charge[charges->count++] = charge;
		error = done < 0 ? done : error;
		most = done > most ? done : most;
	}
	return error < 0 ? error : most;
}

int
rl_settle(struct rl *rl, struct rl_charges *charges, uint64_t actual)
{
	int done;

	if (actual > RL_CAPACITY_MAX)
		return RL_EACTUAL;
	if (charges->settled)
		return RL_ESETTLED;
	done = for_each(rl, charges, (uint32_t)actual, true);
	charges->settled = done >= 0 || done == -ENOSPC;
	return done;
}

int
rl_refund(struct rl *rl, struct rl_charges *charges)
{
	return for_each(rl, charges, 0, false);
}
