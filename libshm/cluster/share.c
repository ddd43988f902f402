/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lending to this host's words: rl_cluster.h says what. Each change is one CAS16 from the word that was
 * judged, and only while the tag is that of the incarnation: a slot that became another key's has another gen in its
 * word, or none, and is left alone. A key that has moved to another table (move/move.c) has taken its share along, and is
 * found there by its hash. Nobody but a lender gives a share, so one that is there was brought: a word without is
 * of an incarnation that the caller does not know.
 *
 *	lower, end   from what the word counts now; a worker who has loaded the share before fails his CAS
 *	set          a word that was not charged yet begins to count, with what the key's cell has of it, so that the
 *	             share has a place
 *	advance      stores what every decision loads before its word. Shares that are over were ended before, and a
 *	             worker who sees the new time sees these words, or fails his CAS
 */
#include <errno.h>
#include <string.h>

#include "algorithm/share.h"
#include "algorithm/share_bucket.h"
#include "decide/decide.h"
#include "move/follow.h"
#include "move/move.h"
#include "reserve/reserve.h"
#include "rl_cluster.h"
#include "rule/named.h"
#include "rule/policy.h"
#include "segment/event.h"
#include "segment/view.h"
#include "segment/wish.h"

#define TRIES 64

/* A slot as it was loaded, with all that a share rests on. */
struct place {
	const struct rl_segment *s;
	const struct rl_compiled *limit;
	struct rl_slot slot;
	struct rl_view view;
	struct rl_quota quota;
	unsigned index;
	uint64_t now_ns;
	bool is_followed;  /* it was found in another table than it was seen in */
	uint64_t key_hash; /* as the caller knows it; 0: he does not */
};

static bool
is_clustered(const struct rl *rl)
{
	return rl->segment.geometry.clustered != 0;
}

static int
may_write(const struct rl *rl)
{
	if (!is_clustered(rl))
		return RL_ECLUSTER;
	return rl->segment.is_writable ? 0 : -EROFS;
}

static bool
is_still(const struct rl_segment *s, struct rl_slot slot)
{
	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag;
}

/* A slot's tag. One that is LEAVING may be LIVE again. */
static uint64_t
settled_tag(const struct rl_segment *s, uint64_t index)
{
	struct rl_slot slot = {.index = index,
	                       .tag = rl_atomic_load(rl_table_tag(&s->table, index))};

	if (!rl_tag_is_leaving(slot.tag) || !s->is_writable)
		return slot.tag;
	rl_table_free(&s->table, slot);
	return rl_atomic_load(rl_table_tag(&s->table, index));
}

/* The capacity of the key's own override or tier, in place of its limit's. */
static void
apply_own_capacity(struct rl *rl, struct place *p)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_record_copy copy;
	struct rl_key_policy k;
	struct rl_quota quota;

	if (rl_rules_have_tiers(p->limit->row))
		rl_policy_apply_tier(p->s, p->slot.index, p->limit, p->index, &p->quota);
	if (rl_policy_has_overrides(p->s, p->limit->rule) && rl_record_read(p->s, p->slot, &copy) &&
	    rl_policy_of_record(rl, &copy, p->limit, &budget, &k, &quota))
		p->quota = quota;
}

/* The limit of a LIVE slot of a cluster; false if it is none such. */
static bool
find_limit(struct rl *rl, struct rl_slot slot, uint64_t now_ns, struct place *p)
{
	if (rl_tag_status(slot.tag) != RL_TAG_LIVE)
		return false;
	*p = (struct place){.s = &rl->segment, .slot = slot, .now_ns = rl_clamp_now(now_ns)};
	p->limit = rl_handle_limit(rl, rl_tag_limit(slot.tag));
	return p->limit && rl_limiter_is_lent(&p->limit->limiter) &&
	       rl_compiled_owns(p->limit, slot.tag) &&
	       rl_policy_of_limit(p->s, p->limit->id, &p->quota, &p->index);
}

static uint32_t
share_of(const struct rl_view *v)
{
	return v->is_zero ? 0 : rl_share_of(v->word);
}

/* 0; -ESTALE: it is no more; -EAGAIN: look where it is; -EBUSY: to be tried again. */
static int
load(struct place *p)
{
	enum rl_seen seen = rl_view_load(p->s, p->slot, &p->view);

	if (!is_still(p->s, p->slot))
		return -EAGAIN;
	if (seen == RL_SEEN_DEAD || (seen == RL_SEEN && p->is_followed && share_of(&p->view) == 0))
		return -ESTALE;
	rl_policy_lend(p->s, p->limit, p->now_ns, &p->quota);
	return seen == RL_SEEN ? 0 : -EBUSY;
}

static uint64_t
hold_of(const struct rl_limiter *l, const struct rl_quota *q)
{
	if (rl_limiter_has_bucket(l))
		return rl_share_bucket_of(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q))
		               .fill >>
		       8;
	return l->window_ns + (rl_limiter_has_window(l) ? l->window.width_ns : 0);
}

/* -EBUSY: the ring has changed under it. */
static int
tell(const struct place *p, struct rl_share *share)
{
	const struct rl_limiter *l = &p->limit->limiter;
	struct rl_record_copy copy;
	bool is_known = rl_record_read(p->s, p->slot, &copy);

	*share = (struct rl_share){
		.of = {.slot = p->slot.index,
	               .tag = p->slot.tag,
	               .table = p->s->table.number,
	               .key_hash = is_known ? copy.key_hash : p->key_hash},
		.number = rl_tag_gen(p->slot.tag) |
	                  (uint32_t)(p->view.word.hi & RL_STATE_SERIAL_MASK) >>
	                          RL_STATE_SERIAL_SHIFT << 8,
		.rule = rl_rules_handle(p->s, p->limit->rule),
		.limit = p->index,
		.share = share_of(&p->view),
		.load = rl_limiter_load(l, &p->quota, &p->view, p->now_ns),
		.lent = rl_limiter_limit(l, &p->quota),
		.blind = p->quota.lent.blind,
		.hold_ns = hold_of(l, &p->quota),
	};
	if (is_known)
		memcpy(share->hash, copy.hash, sizeof share->hash);
	share->has_hash = (share->hash[0] | share->hash[1]) != 0;
	return rl_view_holds(p->s, l, p->slot, &p->view) ? 0 : -EBUSY;
}

/* The key's slot in another table than it was seen in. */
static bool
follow(struct rl *rl, const struct rl_incarnation *of, struct rl_slot *slot)
{
	const struct rl_compiled *limit = rl_handle_limit(rl, rl_tag_limit(of->tag));
	const struct rl_table *table = &rl->segment.table;
	struct rl_candidates candidates;

	if (!limit || of->key_hash == 0)
		return false;
	candidates = rl_table_candidates(table, limit->owner, of->key_hash);
	return rl_table_find(table, &candidates, slot);
}

static bool
open_in(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns, struct place *p)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_slot slot = {.index = of->slot, .tag = of->tag};
	bool is_followed = of->table != s->table.number;

	if (of->table > s->table.number || (is_followed && !follow(rl, of, &slot)))
		return false;
	if (!is_followed &&
	    (of->slot >= rl_segment_slots(s) || settled_tag(s, of->slot) != of->tag))
		return false;
	if (!find_limit(rl, slot, now_ns, p))
		return false;
	p->is_followed = is_followed;
	p->key_hash = of->key_hash;
	apply_own_capacity(rl, p);
	return true;
}

/* False: there is no memory to look at its keys. A limit that is gone has none. */
static bool
knows_limit(struct rl *rl, const struct rl_incarnation *of)
{
	int limit = rl_tag_limit(of->tag);

	return rl_handle_limit(rl, limit) || rl_handle_no_limit(rl, limit) != -ENOMEM;
}

/* Keys move from the table before to this one: it is looked into first. */
static int
open_place(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns, struct place *p)
{
	struct rl *here, *before;

	if (!is_clustered(rl))
		return RL_ECLUSTER;
	do {
		here = rl_here(rl);
		before = rl_before(here);
		if (!before && rl_table_is_filling(&here->segment.table))
			return -EBUSY; /* it cannot be mapped, or has just ended */
		if (before && open_in(before, of, now_ns, p) &&
		    !(here->segment.is_writable &&
		      rl_move_is_on_its_way(here, before, p->slot.index)))
			return 0;
		if (open_in(here, of, now_ns, p))
			return 0;
	} while (here != rl_here(rl));
	return knows_limit(here, of) && (!before || knows_limit(before, of)) ? -ESTALE : -EBUSY;
}

static int
read_place(struct place *p, struct rl_share *share)
{
	int error = -EBUSY;

	for (int tries = 0; tries < TRIES && error == -EBUSY; tries++) {
		error = load(p);
		if (error == 0)
			error = tell(p, share);
	}
	return error;
}

int
rl_share_read(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
              struct rl_share *share)
{
	int error = -EAGAIN;

	for (int tries = 0; tries < TRIES && error == -EAGAIN; tries++) {
		struct place p;

		error = open_place(rl, of, now_ns, &p);
		if (error == 0)
			error = read_place(&p, share);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

/*
 * A key that was never charged in its slot begins with what its cell counts of it, as with a worker's first charge:
 * the word that a change writes would hide that. False: load it again.
 */
static bool
has_begun(const struct place *p)
{
	uint32_t index;

	if (!p->view.is_zero || p->s->geometry.cells == 0 || !p->limit->has_cells)
		return true;
	return rl_reserve_index_of(p->s, p->limit, p->slot, &index) &&
	       rl_reserve_carry(p->s, p->limit, index, p->slot, &p->view, p->now_ns) !=
	               RL_CARRY_DONE;
}

/* To what a share is changed, by what there is. False: it stays. */
typedef bool change_fn(const struct rl_share *now, uint32_t to, uint32_t *share);

static int
change(struct place *p, change_fn *by, uint32_t to, struct rl_share *share)
{
	const struct rl_limiter *l = &p->limit->limiter;
	struct rl_u128 *state = rl_table_state(&p->s->table, p->slot.index), next;
	uint32_t wanted;

	for (int tries = 0; tries < TRIES; tries++) {
		int error = load(p);

		if (error == 0)
			error = tell(p, share);
		if (error == -ESTALE || error == -EAGAIN)
			return error;
		if (error < 0 || !has_begun(p))
			continue;
		if (!by(share, to, &wanted) ||
		    !rl_limiter_lend(l, &p->quota, &p->view, wanted, p->now_ns, &next))
			return 0;
		if (rl_atomic_cas16(state, p->view.word, next)) {
			p->view.word = next;
			p->view.is_zero = false;
			share->share = share_of(&p->view);
			return 0;
		}
		rl_atomic_pause();
	}
	return -EBUSY;
}

static int
change_of(struct rl *rl, const struct rl_incarnation *of, change_fn *by, uint32_t to,
          uint64_t now_ns, struct rl_share *share)
{
	int error = may_write(rl);

	if (error < 0)
		return error;
	error = -EAGAIN;
	for (int tries = 0; tries < TRIES && error == -EAGAIN; tries++) {
		struct place p;

		error = open_place(rl, of, now_ns, &p);
		if (error == 0)
			error = change(&p, by, to, share);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

static bool
lower(const struct rl_share *now, uint32_t to, uint32_t *share)
{
	uint32_t least = to > now->load ? to : now->load;

	*share = rl_share_tokens(rl_share_code_up(least));
	return *share < now->share;
}

static bool
end(const struct rl_share *now, uint32_t to, uint32_t *share)
{
	*share = to;
	return now->share > 0;
}

static bool
set(const struct rl_share *now, uint32_t to, uint32_t *share)
{
	*share = rl_share_tokens(rl_share_code(to));
	return *share != now->share;
}

int
rl_share_lower(struct rl *rl, const struct rl_incarnation *of, uint32_t to, uint64_t now_ns,
               struct rl_share *share)
{
	return change_of(rl, of, lower, to, now_ns, share);
}

int
rl_share_end(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
             struct rl_share *share)
{
	return change_of(rl, of, end, 0, now_ns, share);
}

int
rl_share_set(struct rl *rl, const struct rl_incarnation *of, uint32_t to, uint64_t now_ns,
             struct rl_share *share)
{
	return change_of(rl, of, set, to, now_ns, share);
}

int
rl_share_advance(struct rl *rl, uint64_t until_ns)
{
	uint64_t *until = &rl->segment.header->shares_until;
	int error = may_write(rl);

	while (error == 0) {
		uint64_t held = rl_atomic_load(until);

		if (held >= until_ns || rl_atomic_cas(until, held, until_ns))
			break;
		rl_atomic_pause();
	}
	return error;
}

/* A slot's key, if it is a cluster's: 0 and *share; -ESTALE: it is none; -EBUSY. */
static int
look(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_share *share)
{
	struct rl_slot slot = {.index = index};
	struct place p;
	int error = -EAGAIN;

	for (int tries = 0; tries < TRIES && error == -EAGAIN; tries++) {
		slot.tag = settled_tag(&rl->segment, index);
		if (!find_limit(rl, slot, now_ns, &p))
			return -ESTALE;
		apply_own_capacity(rl, &p);
		error = read_place(&p, share);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

static uint64_t
slots_of_both(struct rl *rl)
{
	struct rl *here = rl_here(rl), *before = rl_before(here);

	return rl_segment_slots(&here->segment) + (before ? rl_segment_slots(&before->segment) : 0);
}

/* The same, of the slots of the table in force, and behind them of those of the table before. */
static int
look_in_both(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_share *share)
{
	struct rl *here = rl_here(rl), *before = rl_before(here);
	uint64_t slots = rl_segment_slots(&here->segment);

	if (index < slots)
		return look(here, index, now_ns, share);
	if (!before || index - slots >= rl_segment_slots(&before->segment))
		return -EINVAL;
	if (here->segment.is_writable && rl_move_is_on_its_way(here, before, index - slots))
		return -ESTALE;
	return look(before, index - slots, now_ns, share);
}

int
rl_share_at(struct rl *rl, uint64_t slot, uint64_t now_ns, struct rl_share *share)
{
	return is_clustered(rl) ? look_in_both(rl, slot, now_ns, share) : RL_ECLUSTER;
}

/* From the last to the first: a key that moves meanwhile is not passed by. */
int
rl_share_scan(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
              int (*visit)(const struct rl_share *share, void *arg), void *arg)
{
	uint64_t slots = slots_of_both(rl);
	struct rl_share share;
	int result = 0;

	if (!is_clustered(rl))
		return RL_ECLUSTER;
	if (first >= slots)
		return -EINVAL;
	if (count > slots - first)
		count = slots - first;
	for (uint64_t i = first + count; i-- > first && result == 0;) {
		int error = look_in_both(rl, i, now_ns, &share);

		if (error == 0 && share.share > 0)
			result = visit(&share, arg);
		else if (error == -EBUSY)
			result = error;
	}
	return result;
}

/* Those of a table. Returns how many there were; *result: what visit() returned last. */
static int
take_wishes(struct rl *rl, uint64_t *from, unsigned most, uint64_t now_ns,
            int (*visit)(const struct rl_share *share, void *arg), void *arg, int *result)
{
	uint64_t first, bits = 1;
	struct rl_share share;
	int taken = 0;

	while ((unsigned)taken < most && *result >= 0 && bits != 0) {
		bits = rl_wish_take(&rl->segment, from, &first);
		for (uint64_t left = bits; left != 0; left &= left - 1) {
			uint64_t slot = first + (unsigned)__builtin_ctzll(left);

			taken++;
			if (*result >= 0 && slot < rl_segment_slots(&rl->segment) &&
			    look(rl, slot, now_ns, &share) == 0)
				*result = visit(&share, arg);
		}
	}
	if (bits == 0)
		*from = 0;
	return taken;
}

/* In the table before, they are of keys that stay there for want of room. */
int
rl_share_wishes(struct rl *rl, uint64_t *from, unsigned most, uint64_t now_ns,
                int (*visit)(const struct rl_share *share, void *arg), void *arg)
{
	struct rl *here = rl_here(rl), *before = rl_before(here);
	int error = may_write(rl), taken = 0, result = 0;
	uint64_t from_before = 0;

	if (error < 0)
		return error;
	taken = take_wishes(here, from, most, now_ns, visit, arg, &result);
	if (before && result >= 0 && (unsigned)taken < most)
		taken += take_wishes(before, &from_before, most - (unsigned)taken, now_ns, visit,
		                     arg, &result);
	return result < 0 ? result : taken;
}

int
rl_cluster_info(const struct rl *rl, struct rl_cluster_info *info)
{
	const struct rl_header *h = rl->segment.header;

	if (!is_clustered(rl))
		return RL_ECLUSTER;
	*info = (struct rl_cluster_info){
		.shares_until_ns = rl_atomic_load(&h->shares_until),
		.hosts = (uint32_t)rl_atomic_load(&h->cluster_hosts),
		.has_secret = rl_named_has_secret(&rl->segment),
	};
	return 0;
}

int
rl_cluster_secret(struct rl *rl, const unsigned char secret[32])
{
	int error = may_write(rl);

	if (error == 0)
		rl_named_secret(&rl->segment, secret);
	return error;
}

int
rl_cluster_hosts(struct rl *rl, uint32_t hosts)
{
	int error = may_write(rl);

	if (error == 0 && hosts == 0)
		error = -EINVAL;
	if (error == 0)
		rl_atomic_store(&rl->segment.header->cluster_hosts, hosts);
	return error;
}

int
rl_cluster_tell(struct rl *rl, enum rl_event_kind kind, int rule, const char *text, uint64_t value,
                uid_t author)
{
	int error = may_write(rl);

	if (error == 0 && (kind < RL_EVENT_ORDER || kind > RL_EVENT_LAST))
		error = -EINVAL;
	if (error == 0)
		rl_event_tell(&rl->segment,
		              &(struct rl_event_note){.kind = kind,
		                                      .rule = rule,
		                                      .time_ns = rl_now(rl),
		                                      .key = text,
		                                      .key_len = text ? strlen(text) : 0,
		                                      .retry_ns = value,
		                                      .author = author});
	return error;
}
