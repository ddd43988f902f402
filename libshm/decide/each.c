/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/each.h"

#include "decide/answered.h"
#include "decide/plan.h"
#include "decide/refund.h"
#include "decide/request.h"
#include "rule/address.h"

#define TRIES 16 /* to charge a limit, before those before it are given back */

/* A limit: where the key is, what was seen there, and what is planned. */
struct each {
	struct rl_usual u;
	unsigned index; /* of its rule */
	uint32_t cost;
	struct rl_view view;
	struct rl_plan plan;
};

/* What the rule says. False: that is of another kind, or does not hold. */
static inline __attribute__((always_inline)) bool
take(int rule, uint64_t cost, const struct rl_policy_look *look, unsigned count, struct each *each)
{
	const uint64_t known =
		RL_POLICY_ASKS | RL_POLICY_BUCKET | RL_POLICY_MORE | RL_POLICY_PREFIXES;
	bool has_room = true;

	if ((look->steps & ~known) != rl_policy_plain_steps(rule))
		return false;
	for (unsigned i = 0; i < count; i++) {
		rl_usual_take_limit(look->steps, &look->cached->policy.limit[i], &each[i].u);
		each[i].index = i;
		each[i].cost = (uint32_t)cost;
		has_room &= cost - 1 < each[i].u.quota.capacity;
	}
	return rl_policy_look_holds(look) && has_room;
}

/* Where its key is counted. */
static inline __attribute__((always_inline)) void
place(const struct rl *rl, uint64_t hash, struct each *e)
{
	rl_usual_place(rl, hash, &e->u);
	rl_table_prefetch(&rl->segment.table, &e->u.candidates);
}

/* Leaves the limits that count the address; limits of one prefix have one hash. */
static inline __attribute__((always_inline)) unsigned
place_networks(const struct rl *rl, const struct rl_address *address, unsigned count,
               struct each *each)
{
	unsigned left = 0, prefix, hashed = 0;
	uint64_t hash = 0;

	for (unsigned i = 0; i < count; i++) {
		prefix = rl_compiled_prefix(each[i].u.limit, address);
		if (prefix == 0)
			continue;
		if (prefix != hashed)
			hash = rl_network_hash(rl->segment.key_start, address, prefix);
		hashed = prefix;
		if (left < i)
			each[left] = each[i];
		place(rl, hash, &each[left++]);
	}
	return left;
}

/*
 * The limits that count a key of that hash, or an address, and where. Returns how many; 0: it takes
 * more than that.
 */
static inline __attribute__((always_inline)) unsigned
make(struct rl *rl, int rule, const struct rl_address *address, uint64_t hash, uint64_t cost,
     const struct rl_policy_look *look, struct each *each, unsigned room)
{
	unsigned count = (unsigned)(look->steps >> RL_POLICY_MORE_SHIFT & RL_POLICY_MORE_MASK) + 1;

	if (count > room || !take(rule, cost, look, count, each))
		return 0;
	if (look->steps & RL_POLICY_PREFIXES)
		return place_networks(rl, address, count, each);
	for (unsigned i = 0; i < count; i++)
		place(rl, hash, &each[i]);
	return count;
}

/* A denial says in the plan until when. */
static inline __attribute__((always_inline)) int
plan(const struct rl *rl, uint64_t now_ns, struct each *e)
{
	const struct rl_limiter *l = &e->u.limit->limiter;
	bool is_bucket = rl_limiter_is_bucket(l);
	const struct rl_ask ask = {
		.l = l, .q = &e->u.quota, .v = &e->view, .cost = e->cost, .now_ns = now_ns};

	if (!rl_usual_find(rl, now_ns, &e->u) ||
	    rl_view_load(&rl->segment, e->u.slot, &e->view) != RL_SEEN)
		return RL_AGAIN;
	if (is_bucket ? rl_adds_to_bucket(&ask, &e->plan) : rl_adds(&ask, &e->plan))
		return RL_ALLOWED;
	return (is_bucket ? rl_adds_nothing_to_bucket(&ask, &e->plan.decision)
	                  : rl_adds_nothing(&ask, &e->plan.decision))
	               ? RL_DENIED
	               : RL_AGAIN;
}

/* Of those that deny, the one that does so the longest; NULL: all admit it. Or RL_AGAIN. */
static inline __attribute__((always_inline)) int
plan_all(const struct rl *rl, uint64_t now_ns, struct each *each, unsigned count,
         struct each **denier)
{
	*denier = NULL;
	for (struct each *e = each; e < each + count; e++) {
		int planned = plan(rl, now_ns, e);

		if (planned == RL_AGAIN)
			return RL_AGAIN;
		if (planned == RL_DENIED &&
		    (!*denier ||
		     e->plan.decision.retry_at_ns > (*denier)->plan.decision.retry_at_ns))
			*denier = e;
	}
	return *denier ? RL_DENIED : RL_ALLOWED;
}

/* As it was planned, or as it can be planned by now. */
static inline __attribute__((always_inline)) bool
charge(const struct rl *rl, uint64_t now_ns, struct each *e)
{
	for (int tries = 0; tries < TRIES; tries++) {
		if (__builtin_expect(
			    rl_atomic_cas16(rl_table_state(&rl->segment.table, e->u.slot.index),
		                            e->view.word, e->plan.next),
			    1))
			return true;
		if (plan(rl, now_ns, e) != RL_ALLOWED)
			return false;
	}
	return false;
}

static void
hand_out(const struct rl *rl, const struct each *e, struct rl_charge *charge)
{
	struct rl_part p;

	p.segment = &rl->segment;
	p.limit = e->u.limit;
	p.quota.capacity = e->u.quota.capacity;
	p.hash = e->u.hash;
	p.candidates = e->u.candidates;
	p.slot = e->u.slot;
	p.cost = e->cost;
	p.charge = charge;
	rl_part_hand_out(&p, e->plan.charge_id, e->plan.memory);
}

static __attribute__((noinline, cold)) void
give_back(struct rl *rl, uint64_t now_ns, const struct each *e)
{
	struct rl_charge charge;

	hand_out(rl, e, &charge);
	rl_refund_charge(rl, &charge, now_ns);
}

/* All of them, or nothing. */
static inline __attribute__((always_inline)) bool
charge_all(struct rl *rl, uint64_t now_ns, struct each *each, unsigned count)
{
	for (struct each *e = each; e < each + count; e++) {
		if (__builtin_expect(charge(rl, now_ns, e), 1))
			continue;
		while (e-- > each)
			give_back(rl, now_ns, e);
		return false;
	}
	return true;
}

/* It is denied as its plan says. But for the key, that is a part; of an address it is whole. */
static inline __attribute__((always_inline)) void
deny(struct rl *rl, int rule, const struct rl_address *address, uint64_t now_ns,
     struct rl_result *result, const struct each *denier, struct rl_part *p)
{
	p->rl = rl;
	p->segment = &rl->segment;
	p->now_ns = now_ns;
	p->rule = rule;
	p->slot = denier->u.slot;
	p->index = denier->index;
	p->limit = denier->u.limit;
	p->result = result;
	p->is_asked = true;
	p->key = NULL;
	if (address)
		p->key_len =
			rl_network_key(address, rl_compiled_prefix(p->limit, address), p->network);
	rl_part_answer(p, &denier->plan.decision, RL_DENIED);
}

/* What has the least left says so, and what delays the longest, for how long. */
static inline __attribute__((always_inline)) void
answer(const struct each *each, unsigned count, uint64_t now_ns, struct rl_result *result)
{
	const struct each *best = each;
	uint64_t delay_ns = each->plan.decision.delay_ns;

	for (const struct each *e = each + 1; e < each + count; e++) {
		if (e->plan.decision.remaining < best->plan.decision.remaining)
			best = e;
		if (e->plan.decision.delay_ns > delay_ns)
			delay_ns = e->plan.decision.delay_ns;
	}
	rl_result_fill(result, RL_ALLOWED, best->index, best->u.limit->limiter.window_ns,
	               &best->plan.decision, now_ns);
	result->delay_ns = delay_ns;
}

int
rl_each_decide(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t hash,
               uint64_t cost, uint64_t now_ns, struct rl_result *result,
               const struct rl_policy_look *look)
{
	bool has_networks = (look->steps & RL_POLICY_PREFIXES) != 0;
	struct each each[RL_LIMITS_MAX], *denier;
	struct rl_address address;
	struct rl_result unused;
	struct rl_part p;
	unsigned count;
	int decided;

	if (has_networks && !rl_address_parse(key, key_len, &address))
		return RL_AGAIN;
	count = make(rl, rule, &address, hash, cost, look, each, RL_LIMITS_MAX);
	if (count == 0)
		return RL_AGAIN;
	decided = plan_all(rl, now_ns, each, count, &denier);
	if (decided == RL_DENIED) {
		deny(rl, rule, has_networks ? &address : NULL, now_ns, result ? result : &unused,
		     denier, &p);
		if (!has_networks) {
			p.key = key;
			p.key_len = key_len;
		}
		rl_answered_denied(&p, key, key_len);
		return RL_DENIED;
	}
	if (decided == RL_AGAIN || !charge_all(rl, now_ns, each, count))
		return RL_AGAIN;
	rl_stats_add(&rl->segment, rule, RL_COUNT_allowed);
	if (result)
		answer(each, count, now_ns, result);
	return RL_ALLOWED;
}

/* The same of an item; nothing is for this key alone. */
static inline __attribute__((always_inline)) unsigned
make_item(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct each *each,
          unsigned room)
{
	struct rl_policy_look look;
	struct rl_address address;
	uint64_t hash = 0;

	if (rl_request_has_own(item) || !item->key || item->key_len - 1 >= RL_KEY_MAX ||
	    !rl_usual_look(rl, item->rule, now_ns, &look))
		return 0;
	if (rl_each_asks_hash(&look))
		hash = rl_hash_of_key(rl->segment.key_start, item->key, item->key_len);
	if (look.steps & RL_POLICY_ASKS &&
	    !rl_policy_has_none_for(rl, item->rule, look.version, item->key, item->key_len, hash))
		return 0;
	if (look.steps & RL_POLICY_PREFIXES &&
	    !rl_address_parse(item->key, item->key_len, &address))
		return 0;
	return make(rl, item->rule, &address, hash, item->cost, &look, each, room);
}

/* The limits of all items, and how many of them are each item's; 0: it takes more than that. */
static unsigned
make_items(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
           struct each *each, unsigned *of_item)
{
	unsigned made = 0;

	for (const struct rl_item *item = items; item < items + count; item++) {
		if (item->now_ns != 0 && item->now_ns != items->now_ns)
			return 0;
		*of_item = make_item(rl, item, now_ns, each + made, RL_ITEMS_MAX - made);
		if (*of_item == 0)
			return 0;
		made += *of_item++;
	}
	return made;
}

/* An item that is admitted by these. */
static inline __attribute__((always_inline)) void
answer_item(struct rl *rl, const struct rl_item *item, const struct each *each, unsigned count,
            uint64_t now_ns, struct rl_result *result)
{
	rl_stats_add(&rl->segment, item->rule, RL_COUNT_allowed);
	if (result)
		answer(each, count, now_ns, result);
	rl_request_clear(item);
	for (unsigned i = 0; item->charges && i < count; i++)
		hand_out(rl, &each[i], &item->charges->charge[item->charges->count++]);
}

int
rl_each_admit(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
              struct rl_result *results)
{
	struct each of_all[RL_ITEMS_MAX], *each = of_all, *denier;
	unsigned of_item[RL_ITEMS_MAX], made;

	if (count > RL_ITEMS_MAX)
		return RL_AGAIN;
	made = make_items(rl, items, count, now_ns, each, of_item);
	if (made == 0 || plan_all(rl, now_ns, each, made, &denier) != RL_ALLOWED ||
	    !charge_all(rl, now_ns, each, made))
		return RL_AGAIN;
	for (size_t i = 0; i < count; each += of_item[i++])
		answer_item(rl, &items[i], each, of_item[i], now_ns, results ? &results[i] : NULL);
	return RL_ALLOWED;
}
