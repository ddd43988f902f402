/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_USUAL_H
#define RL_USUAL_H

/*
 * The usual request: its rule has one window or bucket for whole keys and nothing for this key
 * alone, the key has its slot, and there is room, or one sub-bucket has used it up, or tokens are
 * lacking.
 * It is decided as plan.h does it, but all in line, so that all of it is in registers; what else a
 * window says is a call away. RL_AGAIN: it is of another kind, or others were quicker; nothing was
 * done.
 *
 * `kind` is a constant: 0 for windows, or RL_POLICY_BUCKET.
 */

#include "algorithm/adds.h"
#include "decide/answered.h"
#include "decide/expect.h"
#include "decide/share_wish.h"
#include "move/follow.h"

struct rl_usual {
	const struct rl_compiled *limit;
	struct rl_quota quota; /* of a window, what rl_adds() reads of it */
	uint64_t hash;         /* of the key, whatever the limit */
	struct rl_candidates candidates;
	struct rl_slot slot;
};

/* A look at what is cached of its rule. False: that is no answer. */
static inline __attribute__((always_inline)) bool
rl_usual_look(const struct rl *rl, int rule, uint64_t now_ns, struct rl_policy_look *look)
{
	return rl->segment.is_writable && rl_policy_look(rl, rule, now_ns, look);
}

/* What it says of one limit, where `kinds` are what limits of it are. */
static inline __attribute__((always_inline)) void
rl_usual_take_limit(uint64_t kinds, const struct rl_policy_limit *limit, struct rl_usual *u)
{
	u->limit = rl_atomic_own_load(&limit->limit);
	u->quota = (struct rl_quota){.capacity = rl_atomic_own_load(&limit->quota.capacity)};
	if (kinds & RL_POLICY_BUCKET) {
		const struct rl_gcra_rate *rate = &limit->quota.rate;

		u->quota.undelayed = rl_atomic_own_load(&limit->quota.undelayed);
		u->quota.rate = (struct rl_gcra_rate){
			.capacity = rl_atomic_own_load(&rate->capacity),
			.size = rl_atomic_own_load(&rate->size),
			.step_ticks = rl_atomic_own_load(&rate->step_ticks),
			.step_ns = rl_atomic_own_load(&rate->step_ns),
		};
	} else if (__builtin_expect((kinds & RL_POLICY_SHARED) != 0, 0)) {
		u->quota.away = rl_atomic_own_load(&limit->quota.away);
		u->quota.is_auto = rl_atomic_own_load(&limit->quota.is_auto);
		u->quota.share.blind = rl_atomic_own_load(&limit->quota.share.blind);
	}
}

/* What its rule says. False: that is of another kind, or does not hold. */
static inline __attribute__((always_inline)) bool
rl_usual_take(uint64_t kind, int rule, uint64_t cost, const struct rl_policy_look *look,
              struct rl_usual *u)
{
	if (__builtin_expect((look->steps & ~(RL_POLICY_SHARED | RL_POLICY_ASKS)) !=
	                             (rl_policy_plain_steps(rule) | kind),
	                     0))
		return false;
	rl_usual_take_limit(kind | (look->steps & RL_POLICY_SHARED), &look->cached->policy.limit[0],
	                    u);
	return rl_policy_look_holds(look) && cost - 1 < u->quota.capacity;
}

/* Where it may be. */
static inline __attribute__((always_inline)) void
rl_usual_place(const struct rl *rl, uint64_t hash, struct rl_usual *u)
{
	u->hash = hash;
	u->candidates =
		rl_table_candidates(&rl->segment.table, u->limit->owner, hash ^ u->limit->salt);
}

/* All three of a window, if the rule has nothing for the key. */
static inline __attribute__((always_inline)) bool
rl_usual_make(const struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
              uint64_t now_ns, struct rl_policy_look *look, struct rl_usual *u)
{
	uint64_t hash;

	if (key_len - 1 >= RL_KEY_MAX || !key || !rl_usual_look(rl, rule, now_ns, look) ||
	    !rl_usual_take(0, rule, cost, look, u))
		return false;
	hash = rl_hash_of_key(rl->segment.key_start, key, key_len);
	if (__builtin_expect((look->steps & RL_POLICY_ASKS) != 0, 0) &&
	    !rl_policy_has_none_for(rl, rule, look->version, key, key_len, hash))
		return false;
	rl_usual_place(rl, hash, u);
	return true;
}

static inline __attribute__((always_inline)) bool
rl_usual_find(const struct rl *rl, uint64_t now_ns, struct rl_usual *u)
{
	if (!rl_table_find(&rl->segment.table, &u->candidates, &u->slot))
		return false;
	rl_expect_record(rl, u->slot, now_ns);
	return true;
}

/* It is denied as `denial` says. */
int rl_usual_denied(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                    struct rl_result *result, const struct rl_compiled *limit, struct rl_slot slot,
                    struct rl_decision denial);

/* Its window has moved on, or its ring says what counts. */
int rl_usual_by_ring(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                     uint64_t now_ns, struct rl_result *result, const struct rl_compiled *limit,
                     uint32_t capacity, struct rl_slot slot);

/* A larger share is wished for, after a charge. */
void rl_usual_wish(struct rl *rl, const void *key, size_t key_len, uint64_t hash,
                   const struct rl_compiled *limit, struct rl_slot slot);

/* Charge it, and count and answer that. */
static inline __attribute__((always_inline)) int
rl_usual_decide(struct rl *rl, uint64_t kind, int rule, const void *key, size_t key_len,
                uint64_t cost, uint64_t now_ns, struct rl_result *result, struct rl_usual *u)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_limiter *l = &u->limit->limiter;
	const struct rl_slot slot = u->slot; /* what is passed on whole is in memory */
	struct rl_view v;
	struct rl_decision denial;
	struct rl_plan plan;
	struct rl_ask ask;

	if (rl_policy_is_away(s, l, now_ns, &u->quota))
		u->quota.share.away = rl_policy_worth_away(s, u->quota.capacity, u->quota.away);
	if (rl_view_load(s, slot, &v) != RL_SEEN)
		return RL_AGAIN;
	ask = (struct rl_ask){
		.l = l, .q = &u->quota, .v = &v, .cost = (uint32_t)cost, .now_ns = now_ns};
	if (!(kind == RL_POLICY_BUCKET ? rl_adds_to_bucket(&ask, &plan) : rl_adds(&ask, &plan))) {
		if (kind == RL_POLICY_BUCKET ? rl_adds_nothing_to_bucket(&ask, &denial)
		                             : rl_adds_nothing(&ask, &denial))
			return rl_usual_denied(rl, rule, key, key_len, now_ns, result, u->limit,
			                       slot, denial);
		return kind == RL_POLICY_BUCKET
		               ? RL_AGAIN
		               : rl_usual_by_ring(rl, rule, key, key_len, cost, now_ns, result,
		                                  u->limit, u->quota.capacity, slot);
	}
	if (!rl_atomic_cas16(rl_table_state(&s->table, slot.index), v.word, plan.next))
		return RL_AGAIN;
	rl_stats_add(s, rule, RL_COUNT_allowed);
	if (l->is_shared &&
	    rl_share_wants_more(&u->quota, u->quota.capacity,
	                        rl_decision_used(&plan.decision) + plan.decision.remaining,
	                        plan.decision.remaining, RL_ALLOWED))
		rl_usual_wish(rl, key, key_len, u->hash, u->limit, slot);
	if (result)
		rl_result_fill(result, RL_ALLOWED, 0, l->window_ns, &plan.decision, now_ns);
	return RL_ALLOWED;
}

/* A peek at a window of this host, by its row. RL_AGAIN: as above. */
int rl_usual_peek(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
                  struct rl_result *result);

#endif
