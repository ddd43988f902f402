/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/request.h"

#include <errno.h>
#include <limits.h>

#include "decide/decide.h"
#include "decide/exception.h"
#include "move/follow.h"
#include "rule/ban_note.h"
#include "rule/history.h"

#define ITEM_FLAGS                                                                     \
	(unsigned)(RL_ITEM_BURST | RL_ITEM_UNDELAYED | RL_ITEM_CLAMP | RL_ITEM_LEAVE | \
	           RL_ITEM_WAITS | RL_ITEM_SLEEPS)
#define LEAVE_WHOLE (RL_LEAVE_MAX + 1u)

__attribute__((noinline)) uint64_t
rl_request_clock(const struct rl *rl)
{
	return rl_segment_now(&rl->segment);
}

bool
rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item, struct rl_key_policy *k,
                                 uint64_t now_ns, struct rl_budget *budget, struct rl_result *r)
{
	struct rl_exception e;
	bool is_answered;

	e.has_override = k->has_override;
	e.override.kind = k->kind;
	e.has_bans = k->rule.has_bans;
	if (e.has_bans) {
		if (!k->has_address && rl_lengths_have_networks(&k->rule.bans))
			k->has_address = rl_address_parse(item->key, item->key_len, &k->address);
		rl_ban_of_key(&rl->segment, k->rule.rule, &k->rule.bans, item->key, item->key_len,
		              k->has_address ? &k->address : NULL, now_ns, budget, &e.standing);
	}
	is_answered = rl_exception_answers(&e, now_ns, budget, r);
	if (rl_exception_is_noted(&e)) {
		k->has_ban = true;
		k->ban_slot = e.standing.first.slot;
	}
	return is_answered;
}

/* Without a look at a counter; if the budget has ended, because of that. */
static bool
is_answered(struct rl *rl, const struct rl_item *item, struct rl_key_policy *k, uint64_t now_ns,
            struct rl_budget *budget, struct rl_result *r)
{
	if (item->key_len > 0 && k->rule.count > 0 && !k->rule.has_bans && !k->has_override)
		return false;
	if (k->rule.is_removed)
		r->error = RL_EREMOVED;
	else if (item->key_len == 0)
		r->error = RL_EEMPTY;
	if (k->rule.count > 0) {
		r->limit = r->remaining =
			rl_limiter_limit(&k->rule.limit[0].limit->limiter, &k->rule.limit[0].quota);
		r->window_ns = k->rule.limit[0].limit->limiter.window_ns;
	}
	k->has_ban = false;
	if (item->key_len > 0 && !rl_request_answered_by_exception(rl, item, k, now_ns, budget, r))
		return false;
	if (k->has_ban && item->cost > 0 && rl->segment.is_writable)
		rl_ban_note_hit(&rl->segment, k->ban_slot);
	return true;
}

/* A burst in place of the limit's own. `has` is what its algorithm has. */
static int
apply_burst(uint32_t burst, bool keeps_own, unsigned has, struct rl_quota *q)
{
	if (!(has & RL_HAS_BURST) || burst >= RL_CAPACITY_MAX)
		return -EINVAL;
	if (has & RL_BURST_IS_CAPACITY && burst == 0)
		burst = q->capacity < RL_CAPACITY_MAX ? q->capacity : RL_CAPACITY_MAX - 1;
	if (!keeps_own || !(has & RL_BURST_IS_CAPACITY))
		q->burst = burst;
	return 0;
}

/* The request's own capacity, burst and undelayed take the place of its rule's first limit's. */
static int
apply_item(const struct rl_item *item, bool keeps_own, const struct rl_limiter *l,
           struct rl_quota *q)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(l->algorithm);
	int error = 0;

	if (!rl_request_has_own(item))
		return 0;
	if (!info) /* a space of counters */
		return -EINVAL;
	if (item->capacity > 0 && !keeps_own)
		error = rl_policy_set_capacity(l, item->capacity, q);
	if (error == 0 && item->flags & RL_ITEM_BURST)
		error = apply_burst(item->burst, keeps_own, info->flags, q);
	if (error < 0 || !(item->flags & RL_ITEM_UNDELAYED))
		return error;
	if (!(info->flags & RL_HAS_UNDELAYED) || item->undelayed > q->burst)
		return -EINVAL;
	q->undelayed = item->undelayed;
	return 0;
}

/* A part of `whole`, rounded up. */
static uint32_t
left_of(uint32_t whole, uint32_t permille)
{
	return (uint32_t)(((uint64_t)whole * permille + LEAVE_WHOLE - 1) / LEAVE_WHOLE);
}

/* A bucket fills as fast as ever, and is left less of; at least one unit is to be had. */
static int
apply_leave(uint32_t permille, const struct rl_limiter *l, struct rl_quota *q)
{
	uint32_t least = l->algorithm == RL_LEAKY_BUCKET ? 0 : 1;
	uint32_t *whole = rl_limiter_is_bucket(l) ? &q->burst : &q->capacity, left;

	if (permille == 0)
		return 0;
	if (l->is_shared && rl_limiter_has_bucket(l)) /* its burst tells how long it fills */
		return -EINVAL;
	left = left_of(rl_limiter_limit(l, q), permille);
	*whole = *whole > left + least ? *whole - left : least;
	q->undelayed = rl_lesser(q->undelayed, q->burst);
	q->prefetch = 0;
	return 0;
}

static int
apply_booking(const struct rl_booking *booking, const struct rl_limiter *l, struct rl_quota *q)
{
	if (!booking)
		return 0;
	if (!rl_limiter_is_bucket(l))
		return -EINVAL;
	q->is_booking = true;
	q->max_wait_ns = booking->max_wait_ns;
	return 0;
}

/* Is what the item says of itself within bounds? */
static bool
has_sound_wishes(const struct rl_item *item)
{
	uint32_t most = item->flags & RL_ITEM_LEAVE ? RL_LEAVE_MAX : 0;

	return item->capacity <= RL_CAPACITY_MAX && !(item->flags & ~ITEM_FLAGS) &&
	       item->leave <= most;
}

/*
 * What this request alone wants of a key's limits. All of them can book ahead, or none of the
 * request is.
 */
static int
apply_wishes(const struct rl_item *item, const struct rl_booking *booking, struct rl_key_policy *k)
{
	struct rl_policy_limit *limit = k->rule.limit;
	int error = 0;

	if (k->rule.count > 0 && limit[0].index == 0)
		error = apply_item(item, k->keeps_first, &limit[0].limit->limiter, &limit[0].quota);
	for (unsigned i = 0; i < k->rule.count && error == 0; i++)
		error = apply_leave(item->leave, &limit[i].limit->limiter, &limit[i].quota);
	for (unsigned i = 0; i < k->rule.count && error == 0; i++)
		error = apply_booking(booking, &limit[i].limit->limiter, &limit[i].quota);
	return error;
}

/* What the request costs by this limit. */
static void
apply_cost(const struct rl_item *item, struct rl_part *p)
{
	const struct rl_limiter *l = &p->limit->limiter;

	if (l->counts_requests)
		p->asked = rl_lesser_u64(p->asked, 1);
	else if (item->flags & RL_ITEM_CLAMP)
		p->asked = rl_lesser_u64(p->asked, rl_limiter_limit(l, &p->quota));
}

/* The same of the parts of a key for which its rule has nothing else. */
static __attribute__((noinline)) bool
take_wishes(const struct rl_item *item, const struct rl_booking *booking, struct rl_part *parts,
            unsigned count)
{
	if (!has_sound_wishes(item) ||
	    apply_item(item, false, &parts->limit->limiter, &parts->quota) < 0)
		return false;
	parts->tier = item->capacity;
	for (unsigned i = 0; i < count; i++) {
		struct rl_part *p = &parts[i];

		if (apply_leave(item->leave, &p->limit->limiter, &p->quota) < 0 ||
		    apply_booking(booking, &p->limit->limiter, &p->quota) < 0)
			return false;
		apply_cost(item, p);
	}
	return true;
}

#define WHOLE_KEY UINT_MAX

static unsigned
prefix_of(const struct rl_compiled *limit, const struct rl_address *address)
{
	return limit->has_prefix ? rl_compiled_prefix(limit, address) : WHOLE_KEY;
}

/*
 * Where the key is counted by a limit that is known. Limits of one prefix have one hash: so may the
 * part before it.
 */
static inline __attribute__((always_inline)) void
place(const struct rl_address *address, const struct rl_part *before, struct rl_part *p)
{
	unsigned prefix = prefix_of(p->limit, address);

	if (prefix != WHOLE_KEY) {
		p->key = NULL;
		p->key_len = rl_network_key(address, prefix, p->network);
	}
	rl_request_place(p, before && prefix_of(before->limit, address) == prefix
	                            ? before->hash
	                            : rl_hash_of_key(p->segment->key_start,
	                                             p->key ? p->key : p->network, p->key_len));
}

/* The parts of an item under each limit that counts its key. */
static unsigned
fill(struct rl *rl, int rule, const struct rl_item *item, const struct rl_key_policy *k,
     uint64_t now_ns, struct rl_part *parts)
{
	for (unsigned i = 0; i < k->rule.count; i++) {
		const struct rl_policy_limit *l = &k->rule.limit[i];
		struct rl_part *p = &parts[i];

		rl_request_begin(rl, rule, item, now_ns, p);
		p->limit = l->limit;
		p->quota = l->quota;
		p->index = l->index;
		p->tier = l->index == 0 ? item->capacity : 0;
		apply_cost(item, p);
		place(&k->address, i > 0 ? p - 1 : NULL, p);
	}
	return k->rule.count;
}

int
rl_request_of_key(struct rl *rl, int rule, const void *key, size_t key_len,
                  struct rl_part parts[static RL_LIMITS_MAX])
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_key_policy k;
	unsigned count;
	int error;

	rl = rl_here(rl);
	error = rl_policy_of_name(rl, rule, key, key_len, rl_segment_now(&rl->segment), &budget,
	                          &k);
	if (error < 0)
		return error;
	count = fill(rl, rule, &item, &k, 0, parts);
	for (unsigned i = 0; i < count; i++) {
		parts[i].budget = NULL;
		parts[i].result = NULL;
		parts[i].is_asked = false;
	}
	return (int)count;
}

/*
 * Leave those limits of a rule with prefixes that count the key, and say where it is; 0: it is no
 * address.
 */
static unsigned
place_networks(const struct rl_item *item, struct rl_part *parts, unsigned count)
{
	struct rl_address address;
	unsigned left = 0;

	if (!rl_address_parse(item->key, item->key_len, &address))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (rl_compiled_prefix(parts[i].limit, &address) == 0)
			continue;
		if (left < i)
			parts[left] = parts[i];
		place(&address, left > 0 ? &parts[left - 1] : NULL, &parts[left]);
		left++;
	}
	return left;
}

unsigned
rl_request_take_all(struct rl *rl, int rule, const struct rl_item *item,
                    const struct rl_booking *booking, uint64_t now_ns, struct rl_policy_look look,
                    struct rl_part *parts, unsigned room)
{
	unsigned count = (unsigned)(look.steps >> RL_POLICY_MORE_SHIFT & RL_POLICY_MORE_MASK) + 1;
	bool is_network = (look.steps & RL_POLICY_PREFIXES) != 0;
	uint64_t hash = 0;

	if (count > room)
		return 0;
	if (!is_network || look.steps & RL_POLICY_ASKS)
		hash = rl_hash_of_key(rl->segment.key_start, item->key, item->key_len);
	if ((look.steps & RL_POLICY_ASKS &&
	     !rl_policy_has_none_for(rl, rule, look.version, item->key, item->key_len, hash)) ||
	    !rl_request_take_limits(rl, rule, item, now_ns, &look, count, parts) ||
	    (rl_request_has_wishes(item, booking) && !take_wishes(item, booking, parts, count)))
		return 0;
	if (is_network)
		return place_networks(item, parts, count);
	for (struct rl_part *p = parts; p < parts + count; p++)
		rl_request_place(p, hash);
	return count;
}

static bool
is_sound(struct rl *rl, int rule, const struct rl_item *item, struct rl_result *r)
{
	if (!rl_rules_had(&rl->segment, rule))
		return rl_result_undecided(r, -EINVAL);
	if (item->key_len > RL_KEY_MAX)
		return rl_result_undecided(r, -ENAMETOOLONG);
	if ((!item->key && item->key_len > 0) || !has_sound_wishes(item))
		return rl_result_undecided(r, -EINVAL);
	return true;
}

/* By all that its rule says of its key. */
static unsigned
make_any(struct rl *rl, int rule, const struct rl_item *item, const struct rl_booking *booking,
         uint64_t now_ns, struct rl_part *parts, unsigned room, struct rl_result *r)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_key_policy k;
	int error;

	rl_history_look(rl, rule, now_ns);
	error = rl_policy_of_key(rl, rule, item->key, item->key_len, now_ns, &budget, &k);
	if (error == 0)
		error = apply_wishes(item, booking, &k);
	if (error == 0 && !rl_request_may_hold(item, k.rule.kinds))
		error = RL_ECHARGES;
	if (error == 0 && k.rule.count > room)
		error = RL_EITEMS;
	if (error < 0)
		return (unsigned)rl_result_undecided(r, error);
	return is_answered(rl, item, &k, now_ns, &budget, r)
	               ? 0
	               : fill(rl, rule, item, &k, now_ns, parts);
}

unsigned
rl_request_make(struct rl *rl, int rule, const struct rl_item *item,
                const struct rl_booking *booking, uint64_t now_ns, struct rl_part *parts,
                unsigned room, struct rl_result *r)
{
	struct rl_policy_look look;
	unsigned made = 0;

	if (rl_request_look(rl, rule, item, now_ns, &look))
		made = rl_request_take_all(rl, rule, item, booking, now_ns, look, parts, room);
	if (made > 0)
		return made;
	rl_result_clear(r);
	return is_sound(rl, rule, item, r)
	               ? make_any(rl, rule, item, booking, now_ns, parts, room, r)
	               : 0;
}
