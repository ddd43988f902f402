/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lending to this host's words: rl_cluster.h says what. Each change is one CAS16 from the word that
 * was judged, and only while the tag is that of the incarnation: a slot that became another key's
 * has another gen in its word, or none, and is left alone.
 *
 *	lower, end   from what the word counts now; a worker who has loaded the share before fails
 *	             his CAS
 *	set          a word that was not charged yet begins to count, with what the key's overflow
 *	             counter has of it, so that the share has a place
 *	advance      stores what every decision loads before its word. Shares that are over were
 *	             ended before, and a worker who sees the new time sees these words, or fails his
 *	             CAS
 */
#include "algorithm/share.h"
#include "cluster/clustered.h"
#include "cluster/share_place.h"
#include "overflow/overflow.h"
#include "segment/wish.h"

/*
 * A key that was never charged in its slot begins with what its overflow counter counts of it, as
 * with a worker's first charge: the word that a change writes would hide that. False: load it
 * again.
 */
static bool
has_begun(const struct rl_share_place *p)
{
	uint32_t place;

	if (!p->view.is_zero || p->s->geometry.cells == 0 || !p->limit->has_overflow)
		return true;
	return rl_overflow_place_of_slot(p->s, p->limit, p->slot, &place) &&
	       rl_overflow_carry(p->s, p->limit, place, p->slot, &p->view, p->now_ns) !=
	               RL_CARRY_DONE;
}

/* To what a share is changed, by what there is. False: it stays. */
typedef bool change_fn(const struct rl_share *now, uint32_t to, uint32_t *share);

static int
change(struct rl_share_place *p, change_fn *by, uint32_t to, struct rl_share *share)
{
	struct rl_u128 *state = rl_table_state(&p->s->table, p->slot.index), next;
	const struct rl_ask ask = rl_share_place_ask(p);
	uint32_t wanted;

	for (int tries = 0; tries < RL_SHARE_TRIES; tries++) {
		int error = rl_share_place_load(p, share);

		if (error == -ESTALE || error == -EAGAIN)
			return error;
		if (error < 0 || !has_begun(p))
			continue;
		if (!by(share, to, &wanted) || !rl_limiter_set_share(&ask, wanted, &next))
			return 0;
		if (rl_atomic_cas16(state, p->view.word, next)) {
			share->share = rl_share_of(next);
			return 0;
		}
		rl_atomic_pause();
	}
	return -EBUSY;
}

/* Read a share, or change it. */
static int
at_place(struct rl *rl, const struct rl_incarnation *of, change_fn *by, uint32_t to,
         uint64_t now_ns, struct rl_share *share)
{
	int error = -EAGAIN;

	for (int tries = 0; tries < RL_SHARE_TRIES && error == -EAGAIN; tries++) {
		struct rl_share_place p;

		error = rl_share_place_open(rl, of, now_ns, &p);
		if (error == 0)
			error = by ? change(&p, by, to, share) : rl_share_place_read(&p, share);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

static int
change_of(struct rl *rl, const struct rl_incarnation *of, change_fn *by, uint32_t to,
          uint64_t now_ns, struct rl_share *share)
{
	int error = rl_cluster_may_write(rl);

	return error < 0 ? error : at_place(rl, of, by, to, now_ns, share);
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
rl_share_read(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
              struct rl_share *share)
{
	return at_place(rl, of, NULL, 0, now_ns, share);
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
rl_share_dry(struct rl *rl, const struct rl_incarnation *of, int is_dry, uint64_t now_ns)
{
	int error = rl_cluster_may_write(rl);
	struct rl_share_place p;

	if (error == 0)
		error = rl_share_place_open(rl, of, now_ns, &p);
	if (error == 0)
		rl_wish_dry(p.s, p.slot.index, is_dry != 0);
	return error == -EAGAIN ? -EBUSY : error;
}

int
rl_share_advance(struct rl *rl, uint64_t until_ns)
{
	uint64_t *until = &rl->segment.header->shares_until;
	int error = rl_cluster_may_write(rl);

	while (error == 0) {
		uint64_t held = rl_atomic_load(until);

		if (held >= until_ns || rl_atomic_cas(until, held, until_ns))
			break;
		rl_atomic_pause();
	}
	return error;
}
