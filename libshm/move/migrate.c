/* SPDX-License-Identifier: BSD-2-Clause */
#include "move/migrate.h"

#include <errno.h>

#include "move/move.h"
#include "segment/view.h"

/*
 * The same, in whatever incarnation? A row may be given to a limit that counts networks, and the
 * request has none, or in a segment that is damaged be of another kind, for which the request has
 * no charge.
 */
static bool
is_same(const struct rl_compiled *one, const struct rl_compiled *other)
{
	return one->limiter.algorithm == other->limiter.algorithm &&
	       one->limiter.is_shared == other->limiter.is_shared &&
	       rl_identity_is((struct rl_u128){.lo = one->identity},
	                      (struct rl_u128){.lo = other->identity});
}

/* Look in the table of another struct rl. */
static int
look_in(struct rl_sought *k, struct rl *rl)
{
	const struct rl_compiled *limit = rl_handle_limit(rl, k->limit->id);

	if (!limit)
		return rl_handle_no_limit(rl, k->limit->id) == -ENOMEM ? -ENOMEM : -EAGAIN;
	if (!is_same(limit, k->limit))
		return -EAGAIN;
	k->rl = rl;
	k->limit = limit;
	k->candidates =
		rl_table_candidates(&rl->segment.table, limit->owner, k->key_hash ^ limit->salt);
	return 0;
}

/*
 * Ask the cache for where the key may be in the table before, while its slot in this one is on the
 * way.
 */
static inline __attribute__((always_inline)) void
look_ahead(const struct rl_sought *k, const struct rl *before)
{
	struct rl_candidates candidates = rl_table_candidates(
		&before->segment.table, k->limit->owner, k->key_hash ^ k->limit->salt);

	rl_table_prefetch_tags(&before->segment.table, &candidates);
}

/* Has it counted anything in the table in force? */
static bool
counts_here(const struct rl_sought *k)
{
	const struct rl_segment *s = &k->rl->segment;
	struct rl_slot slot;
	struct rl_view v;

	return rl_table_find(&s->table, &k->candidates, &slot) &&
	       rl_view_load(s, slot, &v) == RL_SEEN && !v.is_zero;
}

static int
migrate(struct rl_sought *k, struct rl *before)
{
	struct rl_coming move = {.rl = k->rl,
	                         .before = before,
	                         .limit = k->limit,
	                         .hash = k->key_hash ^ k->limit->salt,
	                         .now_ns = k->now_ns};

	if (!k->rl->segment.is_writable)
		return rl_move_is_needed(&move) ? look_in(k, before) : 0;
	switch (rl_move_key(&move, &k->unnamed)) {
	case RL_MOVED_NOTHING:
	case RL_MOVED_KEY:
		return 0;
	case RL_MOVED_STAYS:
		return look_in(k, before);
	case RL_MOVED_STUCK:
		return -ENOSPC;
	case RL_MOVED_AGAIN:
		break;
	}
	return -EAGAIN;
}

int
rl_migrate(struct rl_sought *k)
{
	struct rl *here = rl_here(k->rl->handle->first), *before;
	int error = here == k->rl ? 0 : look_in(k, here);

	k->unnamed.tag = 0;
	if (error < 0)
		return error;
	if (rl_table_is_left(
		    &here->segment.table)) /* it cannot be mapped, or is just the next one */
		return rl_here(k->rl->handle->first) == here ? rl_follow_failed(here) : -EAGAIN;
	before = rl_before(here);
	if (before)
		look_ahead(k, before);
	if (!rl_table_is_filling(&here->segment.table) || counts_here(k))
		return 0;
	if (before)
		return migrate(k, before);
	return rl_table_is_filling(&here->segment.table) ? rl_follow_failed(here) : -EAGAIN;
}
