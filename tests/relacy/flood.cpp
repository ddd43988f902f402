/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A key without a place, on weak memory: one process charges it to the overflow counter that it shares with others (a
 * stranger), one gives it a place and charges that, with what the overflow counter says carried over (a claimer), one takes a
 * place from it again and folds what it counted into the overflow counter (an evictor). The table is table.c, and the
 * overflow counter the 16 bytes of overflow_word.c beside it. However they meet, no more than one is admitted.
 *
 *	stranger   CAS16 of the counter  fence    reads the tags: LIVE or LEAVING? Then again
 *	claimer    CAS of the tag: LIVE  fence    reads the counter, before the slot's first charge
 *
 * One of the two sees the other's step. The evictor folds by a CAS16 of the overflow counter, which counts folds,
 * before the slot's state is DEAD and its tag free: so a stranger that finds the tag free again reads that number
 * anew. Broken:
 *	no-stranger-fence, no-claimer-fence: one of the two is left out, or
 *	no-recheck, no-folds: one of the stranger's two last looks
 *	relaxed-load, relaxed-cas: those order nothing
 */
#include "backend.hpp"

#include "../../libshm/table/table.c"

/* What C++ does not take: a struct of the name of Relacy's namespace. */
#define rl rl_opened
#include "../../libshm/algorithm/overflow_word.c"
#undef rl

#define OTHERS 100 /* keys that fill the table */
#define KEY 7
#define CAPACITY 1
#define CHARGE (UINT64_C(1) << RL_STATE_EPOCH_BITS)
#define TRIES_MAX 20
#define OVERFLOW_WORD 56 /* behind the table */

static const struct rl_candidates candidates = {{0, RL_BUCKET_SLOTS}, KEY};
static const struct rl_table table = {(struct rl_bucket *)words, 2};
static rl_u128 *const overflow = (rl_u128 *)&words[OVERFLOW_WORD];

/* The overflow counter is one of a sliding window, all in one epoch. */
#define EPOCH UINT64_C(1000)
#define WIDTH_NS UINT64_C(1000000)
#define UNTIL_NS ((EPOCH + 2) * WIDTH_NS)
#define SERIAL 3
#define LANES 010 /* of the key: the first and the second */
static const struct rl_limiter limiter = {
	.algorithm = RL_SLIDING_WINDOW, .window = {WIDTH_NS, UINT64_MAX / WIDTH_NS, 1, UINT64_MAX, true}};

/* What it counts of the key. */
static uint32_t
counted(rl_u128 word, rl_u128 *seen)
{
	if (!rl_overflow_unpack(&limiter, word, SERIAL, UNTIL_NS, LANES, seen))
		return 0;
	return rl_overflow_parts_of(&limiter, *seen).cur;
}

/* The word after that has become `count`, and so many more folds. */
static rl_u128
with_count(rl_u128 word, uint32_t count, uint32_t folds)
{
	struct rl_overflow_parts p = {EPOCH, count, 0};
	rl_u128 seen;
	bool counts = rl_overflow_unpack(&limiter, word, SERIAL, UNTIL_NS, LANES, &seen);

	return rl_overflow_pack(&limiter, word, counts ? &seen : NULL, rl_overflow_count_of(&p),
	                        LANES, SERIAL, rl_overflow_folds(word) + folds);
}

static void
fence(const char *form)
{
	if (!is_broken(form))
		rl_atomic_fence();
}

/* Has the key got a place meanwhile? */
static bool
has_place(void)
{
	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		uint64_t tag = rl_atomic_load(rl_table_tag(&table, i));

		if (rl_tag_is(tag, RL_TAG_LIVE, KEY) || rl_tag_is(tag, RL_TAG_FREE, KEY))
			return true;
	}
	return false;
}

/* One request in the overflow counter: 1 admitted, 0 denied, -1 again. */
static int
charge_overflow(void)
{
	rl_u128 seen, next;

	rl_atomic_load16(overflow, &seen);
	if (counted(seen, &next) >= CAPACITY)
		return 0;
	next = with_count(seen, counted(seen, &next) + 1, 0);
	stop_for_a_while(); /* meanwhile the key may get a place, */
	if (!rl_atomic_cas16(overflow, seen, next))
		return -1;
	fence("no-stranger-fence");
	stop_for_a_while(); /* and lose it */
	if (!is_broken("no-recheck") && has_place())
		return -1;
	rl_atomic_load16(overflow, &seen);
	return rl_overflow_folds(seen) == rl_overflow_folds(next) || is_broken("no-folds") ? 1 : -1;
}

/* One request in a slot that is LIVE. */
static int
charge_slot(struct rl_slot slot)
{
	uint8_t gen = rl_tag_gen(slot.tag);
	rl_u128 word, shared, seen;
	uint64_t used;

	rl_atomic_load16(rl_table_state(&table, slot.index), &word);
	used = word.lo / CHARGE;
	if (rl_state_gen(word) != gen) {
		if (rl_atomic_load(rl_table_tag(&table, slot.index)) != slot.tag)
			return -1;
		fence("no-claimer-fence");
		rl_atomic_load16(overflow, &shared);
		used = counted(shared, &seen);
	} else if (rl_state_is_dead(word)) {
		rl_table_free(&table, slot);
		return -1;
	}
	if (used >= CAPACITY)
		return 0;
	rl_u128 next = {(used + 1) * CHARGE, rl_state_slot_bits(word, gen)};
	return rl_atomic_cas16(rl_table_state(&table, slot.index), word, next) ? 1 : -1;
}

/* `claims`: there was room when it looked; else a stranger. */
static int
ask_once(bool claims)
{
	struct rl_slot slot;

	if (rl_table_find(&table, &candidates, &slot))
		return charge_slot(slot);
	if (!claims)
		return charge_overflow();
	return rl_table_claim(&table, &candidates, &slot) < RL_CLAIM_FULL ? charge_slot(slot) : -1;
}

static bool
ask(bool claims)
{
	int answer = -1;

	for (int tries = 0; answer < 0 && tries < TRIES_MAX; tries++)
		answer = ask_once(claims);
	return answer == 1;
}

/* Fold what the key has counted into the overflow counter; then its slot is free. False: it has none. */
static bool
evict(void)
{
	struct rl_slot slot;
	rl_u128 word, seen, next;
	uint32_t count;

	if (!rl_table_find(&table, &candidates, &slot))
		return false;
	rl_atomic_load16(rl_table_state(&table, slot.index), &word);
	if (rl_state_gen(word) != rl_tag_gen(slot.tag) || rl_state_is_dead(word))
		return false;
	do {
		rl_atomic_load16(overflow, &seen);
		count = counted(seen, &next);
		next = with_count(seen, count > word.lo / CHARGE ? count : word.lo / CHARGE, 1);
	} while (!rl_atomic_cas16(overflow, seen, next));
	return rl_table_retire(&table, slot, word);
}

struct flood : rl::test_suite<flood, 3> {
	cells mine;
	rl::var<unsigned> admitted[3];

	void
	before()
	{
		memory = &mine;
		mine.unwritten.store(0, rl::mo_relaxed, $);
		mine.of(overflow).store(rl_u128(), rl::mo_relaxed, $);
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t tag = i == 0 ? rl_tag_make(RL_TAG_FREE, 1, 0)
			                      : rl_tag_make(RL_TAG_LIVE, 1, OTHERS + i);
			mine.of(rl_table_tag(&table, i)).store(tag, rl::mo_relaxed, $);
			mine.of(rl_table_state(&table, i)).store(rl_u128(), rl::mo_relaxed, $);
		}
		for (unsigned i = 0; i < 3; i++)
			admitted[i]($) = 0;
	}

	void
	thread(unsigned i)
	{
		if (i == 0) {
			admitted[i]($) = ask(false);
		} else if (i == 1) {
			admitted[i]($) = ask(true);
		} else {
			for (int tries = 0; tries < TRIES_MAX && !evict(); tries++)
				memory->unwritten.load(rl::mo_relaxed, $);
		}
	}

	void
	after()
	{
		RL_ASSERT(admitted[0]($) + admitted[1]($) <= CAPACITY);
	}
};

int
main(int argc, char **argv)
{
	return simulate<flood>(argc, argv);
}
