/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REQUEST_H
#define RL_REQUEST_H

/* From what a caller asks to parts that can be decided. */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "decide/decide.h"

/* A caller may want something else than to charge. */
struct rl_booking {
	uint64_t max_wait_ns;
};

/*
 * `rule` here and below is the item's, which is not read of it: what is looked up of a rule does
 * not depend on the key.
 *
 * Check the item, look up what its rule says of its key, and make of it one part for each limit
 * that counts it, at most `room`, starting to fetch where their keys may live. `booking` is NULL,
 * or the request is to be booked ahead. Returns how many; 0 if the item is answered already, in
 * *result: an error (RL_EITEMS: more than `room`), an empty key, a ban, an exemption, no limit.
 */
unsigned rl_request_make(struct rl *rl, int rule, const struct rl_item *item,
                         const struct rl_booking *booking, uint64_t now_ns, struct rl_part *parts,
                         unsigned room, struct rl_result *result);

/* Does the item say more than its key and its cost? */
static inline bool
rl_request_has_own(const struct rl_item *item)
{
	const unsigned later = RL_ITEM_WAITS | RL_ITEM_SLEEPS; /* of a denial alone */

	return (item->capacity | (item->flags & ~later) | item->leave) != 0;
}

/* Does the request want something of its own, a tier or to be booked? */
static inline bool
rl_request_has_wishes(const struct rl_item *item, const struct rl_booking *booking)
{
	return booking || rl_request_has_own(item);
}

/* Now: a call of its own, so that who is told the time needs no frame for it. */
uint64_t rl_request_clock(const struct rl *rl);

/* When: as the caller says, or now. No later than the latest. */
static inline uint64_t
rl_request_now(const struct rl *rl, uint64_t now_ns)
{
	return now_ns > 0 ? rl_clamp_now(now_ns) : rl_request_clock(rl);
}

/* Of an item that nothing was charged for yet: there is no charge to give back. */
static inline void
rl_request_clear(const struct rl_item *item)
{
	if (!item->charges)
		return;
	item->charges->count = 0;
	item->charges->settled = 0;
	item->charges->now_ns = 0;
}

/* Units that are held are given back by their charge, so there has to be one. */
static inline __attribute__((always_inline)) bool
rl_request_may_hold(const struct rl_item *item, uint64_t kinds)
{
	return !(kinds & RL_POLICY_HELD) || item->cost == 0 || item->charges;
}

/*
 * A look at what is cached of the item's rule; false: that is no answer to it, ask
 * rl_policy_of_key().
 */
static inline __attribute__((always_inline)) bool
rl_request_look(const struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
                struct rl_policy_look *look)
{
	return item->key && item->key_len - 1 < RL_KEY_MAX &&
	       rl_policy_look(rl, rule, now_ns, look) && look->steps != 0 &&
	       (uint32_t)look->steps == (uint32_t)rl_policy_plain_steps(rule) &&
	       rl_request_may_hold(item, look->steps);
}

/* All of a part but its limit, where its key is, and what who decides sets. */
static inline __attribute__((always_inline)) void
rl_request_begin(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
                 struct rl_part *p)
{
	p->rl = rl;
	p->segment = &rl->segment;
	p->now_ns = now_ns;
	p->key = item->key;
	p->key_len = item->key_len;
	p->asked = item->cost;
	p->cost = 1;
	p->rule = rule;
	p->charge = NULL;
	p->slot.tag = 0;
	p->tier = 0;
	p->planned = RL_AGAIN;
	p->charged = RL_NOT_CHARGED;
}

/* The limits of a cached policy; false: they changed meanwhile. */
static inline __attribute__((always_inline)) bool
rl_request_take_limits(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
                       const struct rl_policy_look *look, unsigned count, struct rl_part *parts)
{
	rl_request_begin(rl, rule, item, now_ns, parts);
	for (unsigned i = 0; i < count; i++) {
		const struct rl_policy_limit *l = &look->cached->policy.limit[i];
		struct rl_part *p = &parts[i];

		if (i > 0)
			memcpy(p, parts, RL_PART_BEGUN);
		p->limit = rl_atomic_own_load(&l->limit);
		rl_atomic_own_copy(&p->quota, &l->quota, sizeof p->quota);
		p->index = i;
	}
	return rl_policy_look_holds(look);
}

/* Where the key of a part is counted, by its hash, and what of a cluster's limit holds. */
static inline __attribute__((always_inline)) void
rl_request_place(struct rl_part *p, uint64_t hash)
{
	p->hash = hash;
	rl_part_candidates(&p->segment->table, p->limit, hash, &p->candidates);
	rl_policy_share(p->segment, p->limit, p->now_ns, &p->quota);
}

/*
 * The same as rl_request_make() of an item whose rule is cached, and has nothing for this key
 * alone; 0: it is another one. `look` is what rl_request_look() has seen.
 */
unsigned rl_request_take_all(struct rl *rl, int rule, const struct rl_item *item,
                             const struct rl_booking *booking, uint64_t now_ns,
                             struct rl_policy_look look, struct rl_part *parts, unsigned room);

/*
 * A key's counters, whatever bans and overrides say of it, to show, forget or restore them: one
 * part for each limit of the rule that counts the key. Under a rule with prefixes, the key may be a
 * network, and then only the limits of that prefix do. How many, or -EINVAL, RL_EADDRESS, -ENOMEM,
 * RL_ECOST.
 */
int rl_request_of_key(struct rl *rl, int rule, const void *key, size_t key_len,
                      struct rl_part parts[static RL_LIMITS_MAX]);

/*
 * What a ban, an exemption or the configuration says of a key without a look at a counter, in
 * *result, which is clear but for limit, remaining and window; false: nothing. Undecided where the
 * budget has ended.
 */
bool rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item,
                                      struct rl_key_policy *policy, uint64_t now_ns,
                                      struct rl_budget *budget, struct rl_result *result);

/* True for an answer of rl_request_make() that counts: one that a limit's owner asks about. */
static inline bool
rl_request_is_counted(const struct rl_result *r)
{
	return r->verdict == RL_UNDECIDED || r->reason != RL_BY_LIMIT;
}

#endif
