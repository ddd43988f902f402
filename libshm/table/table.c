/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock-free hash table of 16-byte counters, shared by processes that may be stopped or
 * killed between any two instructions.
 *
 *	bucket b1 of a key            bucket b2 of a key
 *	[tag tag tag tag tag tag tag tag]   [tag tag tag tag tag tag tag tag]   8 bytes each
 *	[st  st  st  st  st  st  st  st ]   [st  st  st  st  st  st  st  st ]  16 bytes each, behind
 *
 * A key lives in one of these 16 candidate slots from insert to retirement; nothing ever moves. The
 * tag says whose slot it is, the state what it counts.
 *
 *	FREE(g) --claim--> TENT(key,g) --resolve--> LIVE(key,g) <--> LEAVING(key,g) --> FREE(g+1)
 *	                        |                              retire                      ^
 *	                        +---------------------- give way --------------------------+
 *
 * Each arrow is one CAS on the tag. (Insertion in place with a tentative state, and helping
 * it on: C. Purcell and T. Harris, "Non-blocking hashtables with open addressing", 2005.)
 *
 * resolve(i), by the claimer or by anyone who meets TENT(key) at i: look at the other slots.
 *	LIVE(key) at j            free i, use j
 *	TENT(key) at j, j < i     free i, resolve j instead
 *	TENT(key) at j, j > i     free j, look at j again
 *	LEAVING(key) at j         settle j (below), look at j again
 *	none                      CAS i to LIVE
 *
 * At most one LIVE(key); LEAVING(key) counts as LIVE here. Suppose i and j both became LIVE,
 * i < j, neither retired. Whoever made i LIVE looked at j after TENT(i) was set, and saw neither
 * TENT(key) nor LIVE(key) there (TENT(j) would have been freed, and the look repeated): so TENT(j)
 * was set after that look, hence after TENT(i). Likewise, whoever made j LIVE looked at i after
 * TENT(j) and saw nothing there: so TENT(i) was set after TENT(j). Both cannot be. The look must
 * not run ahead of having set or seen TENT: that is the fence in resolve(). A key cannot slip past
 * a look by being retired at one slot and inserted at another: the second insert meets TENT(i)
 * and frees it or helps it.
 *
 * Nobody waits. A claimer that died leaves a TENT that the next user of the key resolves,
 * or that anyone short of room frees: its owner's last CAS then fails and it starts again.
 *
 * Retiring linearises at the state: CAS16 from the word exactly as judged to the same word
 * with DEAD, the next serial and the tag's gen; if anybody was admitted meanwhile it fails. Then
 * the tag goes to LEAVING, and on to FREE(g+1), by whoever meets DEAD first. A charge is a CAS16
 * from a word read while the tag was LIVE(key,g): the tag cannot leave LIVE(g) for FREE before the
 * state changed to DEAD(g), so a charge that succeeds was made while the slot was its key's. A
 * state with another gen than its LIVE tag, the tag being the same when read again, is an older
 * one's and counts as zero: there is no step that clears it, so none that can be left undone.
 *
 * Why LEAVING. Whoever has seen DEAD(g) may sleep before his CAS on the tag. Others finish the
 * retirement, and after 256 incarnations the tag is LIVE(key,g) again: were his CAS to free it, the
 * key would lose what it counts and be admitted anew. So it only asks the question again. Whoever
 * finds LEAVING(key,g) settles it: he loads the state, and makes the tag FREE(g+1) if that is
 * DEAD(g), else LIVE(key,g) as before. Meanwhile the slot is nobody else's, and no look passes it.
 *
 *	state DEAD(g)   It stays so until the tag is FREE(g+1): it is right to free it.
 *	another state   Only such a sleeper made it LEAVING. The key has kept its slot all the time,
 *	                and a charge that was under way is made there.
 *
 * Who sleeps between the load and the second CAS wakes, if the tag is LEAVING(key,g) again, to a
 * slot that is being retired: freed rightly, or LIVE beside DEAD(g) and freed once more. To free
 * what counts it takes two, of the same retirement: one that sleeps before the first CAS and one
 * before the second, and both wake a multiple of 256 incarnations later, in this order, before
 * anybody else meets the slot.
 *
 * A key can begin its next life in its slot: LIVE(key,g) --> LIVE(key,g+1), once the state is
 * DEAD(g). It has been the key's all the time, so nothing is said above that this would change;
 * whoever had seen DEAD(g) and is late finds another tag, and whoever was quicker has begun to free
 * the slot.
 *
 * gen has 8 bits and wraps; it is compared for equality only. What else may fool a process that
 * sleeps between two instructions: a TENT of the same key and gen, after a multiple of 256
 * incarnations, is made LIVE by a look of long ago, which does harm only while the key is LIVE
 * elsewhere; and a state has the same 16 bytes after 1,792 retirements at the earliest, for it
 * counts them modulo 7 beside gen. A LIVE tag may meet an older DEAD word of its gen after 256
 * claims that gave way without a charge: it is freed once more, and the key claims again.
 *
 * Cost: a find reads one tag line, seldom two; an insert adds two CAS and reads both lines; a
 * retirement is three CAS, of words that it has read.
 */
#include "table/table.h"

#define TRIES 4           /* decisions try anew, too */
#define RESOLVE_TRIES 128 /* slots to read, 16 at least */

#define SLOTS_PER_KEY_NUM 5
#define SLOTS_PER_KEY_DEN 3

static uint64_t
tag_freed(uint64_t tag)
{
	return rl_tag_make(RL_TAG_FREE, (uint8_t)(rl_tag_gen(tag) + 1), 0);
}

/* The same key and gen. */
static uint64_t
tag_with(enum rl_tag_status status, uint64_t tag)
{
	return rl_tag_make(status, rl_tag_gen(tag), tag & RL_TAG_KEY_MASK);
}

/* A LEAVING slot: free if its state is DEAD, else its key's as before. True if it was freed. */
static bool
settle(const struct rl_table *t, struct rl_slot slot)
{
	uint8_t gen = rl_tag_gen(slot.tag);
	uint64_t *tag = rl_table_tag(t, slot.index);
	struct rl_u128 state;

	if (!rl_atomic_load16(rl_table_state(t, slot.index), &state))
		return false;
	if (rl_state_is_retired(state, gen))
		return rl_atomic_cas(tag, slot.tag, tag_freed(slot.tag));
	rl_atomic_cas(tag, slot.tag, tag_with(RL_TAG_LIVE, slot.tag));
	return false;
}

bool
rl_table_is_crowded(const struct rl_table *t, const struct rl_candidates *p)
{
	for (unsigned i = 0; i < RL_CANDIDATES; i++)
		if (rl_tag_status(rl_atomic_load(rl_table_tag(t, rl_table_candidate(p, i)))) ==
		    RL_TAG_FREE)
			return false;
	return true;
}

static bool
line_has(const uint64_t *tags, uint64_t key)
{
	for (unsigned i = 0; i < RL_BUCKET_SLOTS; i++) {
		uint64_t tag = rl_atomic_load(&tags[i]);

		if ((tag & RL_TAG_KEY_MASK) == key &&
		    (rl_tag_status(tag) == RL_TAG_LIVE || rl_tag_status(tag) == RL_TAG_FREE))
			return true;
	}
	return false;
}

bool
rl_table_has(const struct rl_table *t, const struct rl_candidates *p)
{
	return line_has(rl_table_tag(t, p->first[0]), p->key) ||
	       line_has(rl_table_tag(t, p->first[1]), p->key);
}

/* See the head of the file. RL_CLAIM_BUSY: others changed the slot, start again. */
static enum rl_claim
resolve(const struct rl_table *t, const struct rl_candidates *p, struct rl_slot mine,
        struct rl_slot *slot)
{
	uint64_t *const line[2] = {rl_table_tag(t, p->first[0]), rl_table_tag(t, p->first[1])};
	const uint64_t key = p->key; /* kept, as in rl_table_find() */
	unsigned i = 0;

	for (int tries = 0; i < RL_CANDIDATES && tries < RESOLVE_TRIES; tries++) {
		if (i == 0)
			rl_atomic_fence(); /* partner: the same in whoever resolves the other
			                      slot */
		uint64_t tag = rl_atomic_load(&line[i / RL_BUCKET_SLOTS][i % RL_BUCKET_SLOTS]);
		uint64_t index;

		if ((tag & RL_TAG_KEY_MASK) != key) {
			i++;
			continue;
		}
		index = rl_table_candidate(p, i);
		if (index == mine.index) {
			i++;
		} else if (rl_tag_is(tag, RL_TAG_LIVE, key)) {
			rl_atomic_cas(rl_table_tag(t, mine.index), mine.tag, tag_freed(mine.tag));
			*slot = (struct rl_slot){.index = index, .tag = tag};
			return RL_CLAIM_FOUND;
		} else if (rl_tag_is_leaving(tag)) {
			settle(t, (struct rl_slot){.index = index, .tag = tag});
		} else if (!rl_tag_is(tag, RL_TAG_TENT, key)) {
			i++;
		} else if (index > mine.index) {
			rl_atomic_cas(rl_table_tag(t, index), tag, tag_freed(tag));
		} else {
			rl_atomic_cas(rl_table_tag(t, mine.index), mine.tag, tag_freed(mine.tag));
			mine = (struct rl_slot){.index = index, .tag = tag};
			i = 0;
		}
	}
	if (i < RL_CANDIDATES)
		return RL_CLAIM_BUSY;
	if (rl_table_is_left(t)) { /* since TENT was set or seen: see move/move.c */
		rl_atomic_cas(rl_table_tag(t, mine.index), mine.tag, tag_freed(mine.tag));
		return RL_CLAIM_BUSY;
	}
	*slot = (struct rl_slot){.index = mine.index, .tag = tag_with(RL_TAG_LIVE, mine.tag)};
	if (!rl_atomic_cas(rl_table_tag(t, mine.index), mine.tag, slot->tag))
		return RL_CLAIM_BUSY;
	return RL_CLAIM_NEW;
}

/* The result of one survey of the candidate slots. */
struct survey {
	struct rl_slot live, tent, free[2];
	bool has_live, has_tent;
	bool has_settled;  /* some that were LEAVING: the key's, or room for it, maybe */
	unsigned frees[2]; /* free slots in each line */
};

static void
survey_line(const struct rl_table *t, const struct rl_candidates *p, unsigned line,
            struct survey *survey)
{
	const uint64_t *tags = rl_table_tag(t, p->first[line]);
	const uint64_t first = p->first[line], key = p->key; /* kept, as in rl_table_find() */
	unsigned frees = 0;

	for (unsigned i = 0; i < RL_BUCKET_SLOTS; i++) {
		struct rl_slot seen = {.index = first + i, .tag = rl_atomic_load(&tags[i])};

		if (rl_tag_is_leaving(seen.tag)) {
			settle(t, seen);
			survey->has_settled = true;
		} else if (rl_tag_status(seen.tag) == RL_TAG_FREE) {
			if (frees++ == 0)
				survey->free[line] = seen;
		} else if (rl_tag_is(seen.tag, RL_TAG_LIVE, key)) {
			survey->live = seen;
			survey->has_live = true;
		} else if (rl_tag_is(seen.tag, RL_TAG_TENT, key)) {
			survey->tent = seen;
			survey->has_tent = true;
		}
	}
	survey->frees[line] = frees;
}

static void
survey_lines(const struct rl_table *t, const struct rl_candidates *p, struct survey *survey)
{
	*survey = (struct survey){0};
	for (unsigned line = 0; line < 2; line++)
		survey_line(t, p, line, survey);
}

/* Claim a slot in the emptier line, and see it through. */
static enum rl_claim
claim_free(const struct rl_table *t, const struct rl_candidates *p, const struct survey *survey,
           struct rl_slot *slot)
{
	struct rl_slot mine = survey->free[survey->frees[1] > survey->frees[0]];
	uint64_t tent = rl_tag_make(RL_TAG_TENT, rl_tag_gen(mine.tag), p->key);

	if (!rl_atomic_cas(rl_table_tag(t, mine.index), mine.tag, tent))
		return RL_CLAIM_BUSY;
	mine.tag = tent;
	return resolve(t, p, mine, slot);
}

enum rl_claim
rl_table_claim(const struct rl_table *t, const struct rl_candidates *p, struct rl_slot *slot)
{
	for (int tries = 0; tries < TRIES; tries++) {
		enum rl_claim claim;
		struct survey survey;

		survey_lines(t, p, &survey);
		if (survey.has_live) {
			*slot = survey.live;
			return RL_CLAIM_FOUND;
		}
		if (survey.has_settled)
			continue;
		if (survey.has_tent)
			claim = resolve(t, p, survey.tent, slot);
		else if (survey.frees[0] + survey.frees[1] > 0)
			claim = claim_free(t, p, &survey, slot);
		else
			return RL_CLAIM_FULL;
		if (claim != RL_CLAIM_BUSY)
			return claim;
		rl_atomic_pause();
	}
	return RL_CLAIM_BUSY;
}

bool
rl_table_free(const struct rl_table *t, struct rl_slot slot)
{
	uint64_t leaving = tag_with(RL_TAG_FREE, slot.tag);

	if (rl_tag_status(slot.tag) == RL_TAG_LIVE) {
		if (!rl_atomic_cas(rl_table_tag(t, slot.index), slot.tag, leaving))
			return false;
		slot.tag = leaving;
	}
	if (rl_tag_is_leaving(slot.tag))
		return settle(t, slot);
	return rl_atomic_cas(rl_table_tag(t, slot.index), slot.tag, tag_freed(slot.tag));
}

bool
rl_table_retire(const struct rl_table *t, struct rl_slot slot, struct rl_u128 seen)
{
	struct rl_u128 dead = rl_state_retired(seen, rl_tag_gen(slot.tag));

	if (rl_state_is_sealed(seen))
		return false;
	if (!rl_atomic_cas16(rl_table_state(t, slot.index), seen, dead))
		return false;
	rl_table_free(t, slot); /* or whoever met DEAD has done so */
	return true;
}

static int
look_at_left(const struct rl_table *t, uint64_t key, uint64_t index, struct rl_slot *slot)
{
	struct rl_slot seen = {.index = index, .tag = rl_atomic_load(rl_table_tag(t, index))};

	if (rl_tag_is(seen.tag, RL_TAG_LIVE, key)) {
		*slot = seen;
		return 1;
	}
	if (rl_tag_is(seen.tag, RL_TAG_TENT, key))
		return rl_atomic_cas(rl_table_tag(t, index), seen.tag, tag_freed(seen.tag)) ? 0
		                                                                            : -1;
	if (rl_tag_is_leaving(seen.tag) && rl_tag_is(seen.tag, RL_TAG_FREE, key))
		return settle(t, seen) ? 0 : -1;
	return 0;
}

int
rl_table_find_left(const struct rl_table *t, const struct rl_candidates *p, struct rl_slot *slot)
{
	rl_atomic_fence(); /* partner: in resolve() */
	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		int found = look_at_left(t, p->key, rl_table_candidate(p, i), slot);

		if (found != 0)
			return found;
	}
	return 0;
}

bool
rl_table_seal(const struct rl_table *t, struct rl_slot slot, struct rl_u128 seen, bool is_zero)
{
	const struct rl_u128 counts = is_zero ? (struct rl_u128){0} : seen;

	return rl_atomic_cas16(rl_table_state(t, slot.index), seen,
	                       rl_state_sealed(counts, rl_tag_gen(slot.tag)));
}

bool
rl_table_mark_moved(const struct rl_table *t, struct rl_slot slot)
{
	return rl_atomic_cas(rl_table_tag(t, slot.index), slot.tag,
	                     tag_with(RL_TAG_MOVED, slot.tag));
}

bool
rl_table_renew(const struct rl_table *t, struct rl_slot *slot, struct rl_u128 seen,
               struct rl_u128 fresh)
{
	uint8_t gen = rl_tag_gen(slot->tag), next = (uint8_t)(gen + 1);
	struct rl_u128 *state = rl_table_state(t, slot->index), dead = rl_state_retired(seen, gen);
	uint64_t tag = rl_tag_make(RL_TAG_LIVE, next, slot->tag & RL_TAG_KEY_MASK);

	if (!rl_atomic_cas16(state, seen, dead))
		return false;
	if (!rl_atomic_cas(rl_table_tag(t, slot->index), slot->tag, tag))
		return false;
	slot->tag = tag;
	fresh.hi = (fresh.hi & ~RL_STATE_SLOT_MASK) | rl_state_slot_bits(dead, next);
	return rl_atomic_cas16(state, dead, fresh);
}

uint64_t
rl_table_fill(const struct rl_table *t)
{
	bool is_left = rl_table_is_left(t);
	uint64_t used = 0;

	for (uint64_t b = 0; b < t->buckets; b++) {
		rl_table_look_ahead(t, b * RL_BUCKET_SLOTS);
		for (unsigned i = 0; i < RL_BUCKET_SLOTS; i++) {
			unsigned status =
				rl_tag_status(rl_atomic_load_relaxed(&t->bucket[b].tag[i]));
			used += status != RL_TAG_FREE && !(is_left && status == RL_TAG_MOVED);
		}
	}
	return used;
}

uint32_t
rl_table_buckets_for(uint32_t keys)
{
	uint64_t slots = ((uint64_t)keys * SLOTS_PER_KEY_NUM - 1) / SLOTS_PER_KEY_DEN + 1;

	if (keys <= RL_CANDIDATES)
		return RL_BUCKETS_MIN;
	return (uint32_t)((slots + RL_BUCKET_SLOTS - 1) / RL_BUCKET_SLOTS);
}

uint64_t
rl_table_holds(uint32_t buckets)
{
	if (buckets <= RL_BUCKETS_MIN)
		return RL_CANDIDATES;
	return (uint64_t)buckets * RL_BUCKET_SLOTS * SLOTS_PER_KEY_DEN / SLOTS_PER_KEY_NUM;
}
