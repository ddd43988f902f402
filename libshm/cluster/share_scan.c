/* SPDX-License-Identifier: BSD-2-Clause */
/* All shares, one slot after the other, and those whose keys wish for more. */
#include "cluster/clustered.h"
#include "cluster/share_place.h"
#include "move/follow.h"
#include "move/move.h"
#include "segment/wish.h"

/* A slot's key, if it is a cluster's: 0 and *share; -ESTALE: it is none; -EBUSY. */
static int
look(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_share *share)
{
	struct rl_share_place p;
	int error = -EAGAIN;

	for (int tries = 0; tries < RL_SHARE_TRIES && error == -EAGAIN; tries++) {
		if (!rl_share_place_at(rl, index, now_ns, &p))
			return -ESTALE;
		error = rl_share_place_read(&p, share);
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
	return rl_is_clustered(rl) ? look_in_both(rl, slot, now_ns, share) : RL_ECLUSTER;
}

/* From the last to the first: a key that moves meanwhile is not passed by. */
int
rl_share_scan(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
              int (*visit)(const struct rl_share *share, void *arg), void *arg)
{
	uint64_t slots = slots_of_both(rl);
	struct rl_share share;
	int result = 0;

	if (!rl_is_clustered(rl))
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
	struct rl_wish of[RL_WISH_SLOTS];
	uint64_t first, bits = 1;
	struct rl_share share;
	int taken = 0;

	while ((unsigned)taken < most && *result >= 0 && bits != 0) {
		bits = rl_wish_take(&rl->segment, from, &first, of);
		for (uint64_t left = bits; left != 0; left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctzll(left);

			taken++;
			if (*result < 0 || first + i >= rl_segment_slots(&rl->segment) ||
			    look(rl, first + i, now_ns, &share) != 0)
				continue;
			share.denied = of[i].denied;
			share.largest = of[i].largest;
			share.waits = of[i].waits;
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
	int error = rl_cluster_may_write(rl), taken = 0, result = 0;
	uint64_t from_before = 0;

	if (error < 0)
		return error;
	taken = take_wishes(here, from, most, now_ns, visit, arg, &result);
	if (before && result >= 0 && (unsigned)taken < most)
		taken += take_wishes(before, &from_before, most - (unsigned)taken, now_ns, visit,
		                     arg, &result);
	return result < 0 ? result : taken;
}
