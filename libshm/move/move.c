/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table O has been left for a table N (rl_tables.now), and its keys are on their way. A key has
 * its slot in one of both, and each step is one CAS, by whoever needs the key or by a mover:
 *
 *	claim   N     a slot for the key: LIVE, its state zero
 *	seal    O     CAS16 of the state to the same word, sealed: no charge, no refund and no
 *	              retirement can change it
 *	store   N     the entries of the ring that count (algorithm/carry.h), each by a CAS while
 *	              N's state is as it was
 *	carry   N     CAS16 of the state from zero to what was sealed
 *	mark    O     CAS of the tag from LIVE to MOVED
 *
 * A charge is good wherever it was made: in O it is a CAS16 from a word that is not sealed, so
 * whoever seals later seals it with the rest. So a process that has not heard of N yet goes on in
 * O, until it meets a sealed word. Then it looks at `now`.
 *
 * In N, nothing is charged to a key whose state is zero before O was looked at. So a state in N
 * that is not zero has all that O had, and needs no look at O: which is most decisions.
 *
 * 1. No second slot in O. A slot becomes LIVE in O only by whoever has seen, after TENT was set,
 *    that O is in force (table.c, resolve()). So TENT was set before `now` changed. Whoever looks
 *    at O's candidates after that sees it, and frees it; or sees it LIVE, and seals it. So when he
 *    has found nothing of the key, nothing of it will ever be there.
 * 2. No count twice. The carry expects the word that N's slot had before it was known that O's is
 *    still LIVE. A carry in between has changed that word, and so has a retirement of N's slot (it
 *    has the next serial then). MOVED is set only after a carry, so who finds MOVED, or nothing,
 *    goes on in N, where it is.
 * 3. No count lost. O's sealed word stands there until it is carried, whoever dies. The next one
 *    who asks for the key, or a mover, goes on from there. If N has no room for the key, it is not
 *    sealed, and is counted in O as before.
 * 4. What was carried and then forgotten for want of room in N (evict.c), by a process that died
 *    before its mark, is carried once more: too much is counted, never too little. A reset moves a
 *    key first, and then resets it.
 * 5. The end. When each tag of O is FREE or MOVED, TENTs having been freed, no slot of O becomes
 *    LIVE any more, by 1. Then `now` says so, and the memory of O is given back: all of it reads as
 *    zeros. A process that slept all the while has a word from O that it expects. No charge expects
 *    zeros, and no word that is made of zeros is made twice (rl_view_use()). So its CAS16 fails,
 *    and it looks at `now`.
 *
 * A key whose record is torn cannot be moved by a mover, who does not know its hash. It waits for
 * who asks for it, or until its window is over.
 */
#include "move/move.h"

#include <errno.h>

#include "algorithm/carry.h"
#include "algorithm/ring.h"
#include "segment/record.h"
#include "segment/view.h"
#include "segment/wish.h"

#define TRIES 64

static struct rl_candidates
candidates_in(const struct rl *rl, const struct rl_coming *m)
{
	return rl_table_candidates(&rl->segment.table, m->limit->owner, m->hash);
}

bool
rl_move_is_needed(const struct rl_coming *m)
{
	struct rl_candidates candidates = candidates_in(m->before, m);
	struct rl_slot slot;

	return rl_table_find(&m->before->segment.table, &candidates, &slot);
}

/* The state of a slot of O that was sealed under that tag. */
static bool
load_sealed(const struct rl_segment *s, struct rl_slot slot, struct rl_view *v)
{
	v->gen = rl_tag_gen(slot.tag);
	v->slot_bits = v->gen;
	v->ring = rl_segment_ring(s, slot.index);
	if (!rl_atomic_load16(rl_table_state(&s->table, slot.index), &v->word) ||
	    !rl_state_is_sealed(v->word) || rl_state_gen(v->word) != v->gen)
		return false;
	v->is_zero = v->word.lo == 0 && (v->word.hi & ~RL_STATE_SLOT_MASK) == 0;
	return true;
}

/* Load the state of a LIVE slot of O, sealed or not. */
static enum rl_seen
load_any(const struct rl_segment *s, struct rl_slot slot, struct rl_view *v, bool *is_sealed)
{
	enum rl_seen seen = rl_view_load(s, slot, v);

	*is_sealed = seen == RL_SEEN_GONE && load_sealed(s, slot, v);
	return *is_sealed ? RL_SEEN : seen;
}

/* Seal it as it was seen. */
static bool
seal(const struct rl_segment *s, struct rl_slot slot, struct rl_view *v)
{
	return rl_table_seal(&s->table, slot, v->word, v->is_zero) && load_sealed(s, slot, v);
}

/* Does it count nothing any more, at any time from now_ns on? */
static bool
is_over(const struct rl_segment *s, const struct rl_limiter *l, const struct rl_view *v,
        uint64_t now_ns)
{
	return v->is_zero || rl_view_is_stale(s, l, v, now_ns);
}

/* Free what counts nothing: 1 done, 0 it counts, -1 look again. */
static int
drop_if_over(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
             uint64_t now_ns)
{
	bool is_sealed;
	struct rl_view v;

	switch (load_any(s, slot, &v, &is_sealed)) {
	case RL_SEEN_DEAD:
		return rl_table_free(&s->table, slot) ? 1 : -1;
	case RL_SEEN_GONE:
		return -1;
	case RL_SEEN:
		break;
	}
	if (l && !is_over(s, l, &v, now_ns))
		return 0;
	return (is_sealed || seal(s, slot, &v)) && rl_table_mark_moved(&s->table, slot) ? 1 : -1;
}

/* The entries of the ring, as long as the state in N is the one that was seen. */
static bool
store(const struct rl_segment *s, const struct rl_limiter *from, const struct rl_limiter *to,
      const struct rl_view *sealed, struct rl_slot slot, const struct rl_view *empty)
{
	uint64_t *ring = rl_segment_ring(s, slot.index), value;
	struct rl_u128 *state = rl_table_state(&s->table, slot.index);
	uint32_t entries = rl_carry_entries(from, sealed), place;

	for (uint32_t i = 0; i < entries; i++)
		if (rl_carry_entry(from, to, sealed, empty->gen, i, &place, &value) &&
		    !rl_ring_store(&ring[place], value, state, empty->word))
			return false;
	return true;
}

/* What people see of the key. True: it was known, or is by now. */
static bool
carry_record(const struct rl_segment *from, struct rl_slot old, const struct rl_segment *to,
             struct rl_slot slot)
{
	struct rl_record_copy copy;

	if (from->geometry.clustered)
		rl_wish_carry(from, old.index, to, slot.index);
	if (rl_record_read(to, slot, &copy))
		return true;
	if (!rl_record_read(from, old, &copy))
		return false;
	rl_record_carry(to, slot, &copy);
	return true;
}

static const struct rl_limiter *
limiter_before(const struct rl_coming *m)
{
	const struct rl_compiled *limit = rl_handle_limit(m->before, m->limit->id);

	return limit && limit->identity == m->limit->identity ? &limit->limiter : NULL;
}

/* Of a sealed slot, whose key has a slot in N. */
static enum rl_moved_key
carry(const struct rl_coming *m, const struct rl_limiter *from, struct rl_slot old,
      const struct rl_view *sealed, struct rl_slot slot)
{
	const struct rl_segment *o = &m->before->segment, *n = &m->rl->segment;
	const struct rl_limiter *to = &m->limit->limiter;
	struct rl_view v;

	switch (rl_view_load(n, slot, &v)) {
	case RL_SEEN_DEAD:
		rl_table_free(&n->table, slot);
		return RL_MOVED_AGAIN;
	case RL_SEEN_GONE:
		return RL_MOVED_AGAIN;
	case RL_SEEN:
		break;
	}
	if (v.is_zero) {
		rl_atomic_fence(); /* N's state, and then whether it is still to come */
		if (rl_atomic_load(rl_table_tag(&o->table, old.index)) != old.tag ||
		    !store(n, from, to, sealed, slot, &v) ||
		    !rl_atomic_cas16(rl_table_state(&n->table, slot.index), v.word,
		                     rl_carry_word(from, sealed, v.slot_bits)))
			return RL_MOVED_AGAIN;
	}
	rl_table_mark_moved(&o->table, old);
	return RL_MOVED_KEY;
}

/* All of a slot that is read or written. Inlined: see rl_bucket_prefetch(). */
static inline __attribute__((always_inline)) void
prefetch(const struct rl_segment *s, struct rl_slot slot)
{
	const char *record = (const char *)rl_segment_record(s, slot.index);

	rl_table_prefetch_state(&s->table, slot);
	__builtin_prefetch(record, 1);
	__builtin_prefetch(record + s->geometry.record_bytes - 1, 1);
}

/* Of a LIVE slot of O that counts something. */
static enum rl_moved_key
move(const struct rl_coming *m, const struct rl_limiter *from, struct rl_slot old,
     struct rl_slot *unnamed)
{
	const struct rl_segment *o = &m->before->segment, *n = &m->rl->segment;
	struct rl_candidates candidates = candidates_in(m->rl, m);
	struct rl_slot slot;
	struct rl_view v;
	bool is_sealed;

	switch (rl_table_claim(&n->table, &candidates, &slot)) {
	case RL_CLAIM_FULL:
		return load_sealed(o, old, &v) ? RL_MOVED_STUCK : RL_MOVED_STAYS;
	case RL_CLAIM_BUSY:
		return RL_MOVED_AGAIN;
	case RL_CLAIM_NEW:
	case RL_CLAIM_FOUND:
		break;
	}
	prefetch(n, slot);
	if (load_any(o, old, &v, &is_sealed) != RL_SEEN || (!is_sealed && !seal(o, old, &v)))
		return RL_MOVED_AGAIN;
	if (!carry_record(o, old, n, slot))
		*unnamed = slot;
	return carry(m, from, old, &v, slot);
}

static enum rl_moved_key
try_to_move(const struct rl_coming *m, struct rl_slot *unnamed)
{
	const struct rl_segment *o = &m->before->segment;
	struct rl_candidates candidates = candidates_in(m->before, m);
	const struct rl_limiter *from;
	struct rl_slot old;
	int found = rl_table_find_left(&o->table, &candidates, &old), over;

	if (found <= 0)
		return found == 0 ? RL_MOVED_NOTHING : RL_MOVED_AGAIN;
	prefetch(o, old);
	from = limiter_before(m);
	if (!from) /* no memory, or the limit has started anew */
		return RL_MOVED_AGAIN;
	over = drop_if_over(o, from, old, m->now_ns);
	if (over != 0)
		return RL_MOVED_AGAIN; /* and there will be nothing */
	return move(m, from, old, unnamed);
}

enum rl_moved_key
rl_move_key(const struct rl_coming *m, struct rl_slot *unnamed)
{
	unnamed->tag = 0;
	for (int tries = 0; tries < TRIES; tries++) {
		enum rl_moved_key moved = try_to_move(m, unnamed);

		if (moved != RL_MOVED_AGAIN || rl_table_is_left(&m->rl->segment.table))
			return moved;
		rl_atomic_pause();
	}
	return RL_MOVED_AGAIN;
}

/* By the hash that its record tells. Without one: only what counts nothing goes. */
static bool
move_live(struct rl *rl, struct rl *before, struct rl_slot slot, uint64_t now_ns)
{
	struct rl_coming m = {.rl = rl, .before = before, .now_ns = now_ns};
	const struct rl_limiter *from;
	struct rl_record_copy copy;
	struct rl_slot unused;
	int id = rl_tag_limit(slot.tag);

	m.limit = rl_handle_limit(rl, id);
	if (!m.limit && rl_handle_no_limit(rl, id) == -ENOMEM)
		return false;
	if (!m.limit ||
	    !rl_compiled_owns(m.limit, slot.tag)) /* it was left behind: nobody looks for it */
		return drop_if_over(&before->segment, NULL, slot, now_ns) == 1;
	if (rl_record_read(&before->segment, slot, &copy)) {
		m.hash = copy.key_hash;
		return rl_move_key(&m, &unused) <= RL_MOVED_KEY;
	}
	from = limiter_before(&m);
	return from && drop_if_over(&before->segment, from, slot, now_ns) == 1;
}

bool
rl_move_slot(struct rl *rl, struct rl *before, uint64_t index, uint64_t now_ns)
{
	const struct rl_table *t = &before->segment.table;

	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_slot slot = {.index = index,
		                       .tag = rl_atomic_load(rl_table_tag(t, index))};

		if (rl_tag_is_free(slot.tag) || rl_tag_status(slot.tag) == RL_TAG_MOVED)
			return true;
		if (rl_tag_status(slot.tag) != RL_TAG_LIVE)
			rl_table_free(t, slot); /* one that is LEAVING may be LIVE then */
		else if (!move_live(rl, before, slot, now_ns))
			return false;
	}
	return false;
}

bool
rl_move_is_on_its_way(struct rl *rl, struct rl *before, uint64_t index)
{
	const struct rl_segment *s = &before->segment;
	struct rl_u128 state;

	return rl_atomic_load16(rl_table_state(&s->table, index), &state) &&
	       rl_state_is_sealed(state) && rl_move_slot(rl, before, index, 0);
}
