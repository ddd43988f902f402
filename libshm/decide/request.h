/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REQUEST_H
#define RL_REQUEST_H

/* From what a caller asks to requests that can be decided, and what is counted of them. */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "decide/decision.h"
#include "rule/terms.h"

/* What else than to charge a caller may want. */
struct rl_wish {
	bool is_booking; /* rl_reserve() */
	uint64_t max_wait_ns;
};

/* All zero but for the charges, of which none are set. */
static inline void
rl_result_clear(struct rl_result *r)
{
	memset(r, 0, offsetof(struct rl_result, charge));
}

/*
 * Check the item, look up its terms, and make of it one request for each limit that counts it, at
 * most `room`, starting to fetch where their keys may live. Returns how many; 0 if the item is
 * answered already, in *result: an error (-EOVERFLOW: more than `room`), an empty key, a ban, an
 * exemption, no limit.
 */
unsigned rl_request_make(struct rl *rl, const struct rl_item *item, const struct rl_wish *wish,
                         uint64_t now_ns, struct rl_request *requests, unsigned room,
                         struct rl_result *result);

/* The request of an item under the i-th of its terms. */
void rl_request_fill(struct rl *rl, const struct rl_item *item, const struct rl_terms *terms,
                     unsigned i, uint64_t now_ns, struct rl_request *rq);

/* Decide about that cost; cost 0 asks for 1. Writes nothing, counts nothing. */
enum rl_verdict rl_request_peek(struct rl_request *rq, uint64_t cost, struct rl_result *result);

/* Decide and charge it, and count nothing. */
enum rl_verdict rl_request_spend(struct rl_request *rq, uint64_t cost, struct rl_result *result);

/* Count an item's verdict under its rule; `rq`, if not NULL, is the request that decided. */
void rl_request_count(struct rl *rl, int rule, const struct rl_request *rq,
                      const struct rl_result *result);

/*
 * Does an exception answer for the key: a ban, an exemption, an override that bans or exempts? No
 * counter is read. Fills *result, which is clear but for limit and remaining; undecided if the
 * budget ends.
 */
bool rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item,
                                      const struct rl_terms *terms, uint64_t now_ns,
                                      struct rl_budget *budget, struct rl_result *result);

/* A shadow limit says what it would have done, and enforces nothing. */
void rl_request_lift_shadow(const struct rl_request *rq, struct rl_result *result);

/* True for an answer of rl_request_make() that counts: one that a limit's owner asks about. */
bool rl_request_is_counted(const struct rl_result *result);

static inline bool
rl_result_undecided(struct rl_result *r, int error)
{
	r->verdict = RL_UNDECIDED;
	r->error = error;
	return false;
}

static inline bool
rl_request_is_sound(struct rl *rl, const struct rl_item *item, struct rl_result *r)
{
	if (!rl_rules_had(&rl->segment, item->rule))
		return rl_result_undecided(r, -EINVAL);
	if (item->key_len > RL_KEY_MAX)
		return rl_result_undecided(r, -ENAMETOOLONG);
	if ((!item->key && item->key_len > 0) || item->capacity > RL_CAPACITY_MAX)
		return rl_result_undecided(r, -EINVAL);
	return true;
}

/* All but limit, quota and candidates. */
static inline void
rl_request_begin(struct rl *rl, const struct rl_item *item, unsigned index, uint64_t now_ns,
                 struct rl_request *rq)
{
	rq->rl = rl;
	rq->rule = item->rule;
	rq->index = index;
	rq->key = item->key;
	rq->key_len = item->key_len;
	rq->now_ns = now_ns;
	rq->slot.tag = 0;
}

#endif
