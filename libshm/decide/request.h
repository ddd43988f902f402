/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REQUEST_H
#define RL_REQUEST_H

/* From what a caller asks to requests that can be decided. */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "decide/decide.h"
#include "segment/record.h"

/* A caller may want something else than to charge. */
struct rl_booking {
	uint64_t max_wait_ns;
};

static inline void
rl_result_clear(struct rl_result *r)
{
	*r = (struct rl_result){.verdict = RL_ALLOWED};
}

/* Where the only charge of an item is to go, empty; NULL: nobody asks. */
static inline struct rl_charge *
rl_item_charge(const struct rl_item *item)
{
	if (!item->charges)
		return NULL;
	item->charges->count = 0;
	item->charges->charge[0].cost = 0;
	return item->charges->charge;
}

/* It may have been filled. */
static inline void
rl_item_charged(const struct rl_item *item)
{
	if (item->charges)
		item->charges->count = item->charges->charge[0].cost > 0;
}

/*
 * Check the item, look up what its rule says of its key, and make of it one request for each limit
 * that counts it, at most `room`, starting to fetch where their keys may live. `booking` is NULL, or
 * the request is to be booked ahead. Returns how many; 0 if the item is answered already, in
 * *result: an error (-EOVERFLOW: more than `room`), an empty key, a ban, an exemption, no limit.
 */
unsigned rl_request_make(struct rl *rl, const struct rl_item *item,
                         const struct rl_booking *booking, uint64_t now_ns,
                         struct rl_request *requests, unsigned room, struct rl_result *result);

/* The request of an item under each limit that counts its key. */
void rl_request_fill(struct rl *rl, const struct rl_item *item, const struct rl_key_policy *policy,
                     uint64_t now_ns, struct rl_request *requests);

/* Remember what a charge has cost, if that is more than 1, where evictions ask for it. */
static inline void
rl_request_keep_cost(const struct rl_ask *a, struct rl_slot slot)
{
	if (a->cost > 1 && slot.tag != 0 && a->segment->geometry.on_full == RL_FULL_EVICT)
		rl_record_keep_cost(a->segment, slot, a->cost);
}

/*
 * What a ban, an exemption or the configuration says of a key without a look at a counter, in
 * *result, which is clear but for limit, remaining and window; false: nothing. Undecided where the budget
 * has ended.
 */
bool rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item,
                                      struct rl_key_policy *policy, uint64_t now_ns,
                                      struct rl_budget *budget, struct rl_result *result);

/* A shadow limit says what it would have done, and enforces nothing. Returns the verdict. */
static inline enum rl_verdict
rl_request_lift_shadow(const struct rl_ask *a, enum rl_verdict verdict)
{
	if (!a->quota.is_shadow || verdict == RL_ALLOWED)
		return verdict;
	if (a->result) {
		a->result->is_shadow_denied = verdict != RL_UNDECIDED;
		a->result->verdict = RL_ALLOWED;
	}
	return RL_ALLOWED;
}

/* True for an answer of rl_request_make() that counts: one that a limit's owner asks about. */
bool rl_request_is_counted(const struct rl_result *result);

static inline bool
rl_result_undecided(struct rl_result *r, int error)
{
	r->verdict = RL_UNDECIDED;
	r->error = error;
	return false;
}

#endif
