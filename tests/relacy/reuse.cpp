/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slot that changes hands, on weak memory: one charges the old key as decide.c does (find,
 * load the state, compare-and-swap), while another retires it and a third puts a new key into
 * its slot and charges that. Each charge is counted once, to the key it was made for: what the
 * slot holds at the end is the new key's charges, or the old one's if it stayed. Broken,
 * older: what another incarnation has counted is not taken for zero.
 */
#include "backend.hpp"

#include "../../libshm/table/table.c"

#define OTHERS 100 /* keys that fill the table */
#define OLD 7
#define NEW 8
#define CHARGE (UINT64_C(1) << RL_STATE_EPOCH_BITS)

static const struct rl_candidates old_candidates = {{0, RL_BUCKET_SLOTS}, OLD};
static const struct rl_candidates new_candidates = {{0, RL_BUCKET_SLOTS}, NEW};
static const struct rl_table table = {(struct rl_bucket *)words, 2};

/* One charge of a slot as it was found; false if it changed. As view.c and decide.c do it. */
static bool
charge(struct rl_slot slot)
{
	struct rl_u128 word, next;

	rl_atomic_load16(rl_table_state(&table, slot.index), &word);
	next = word;
	if (rl_state_gen(word) != rl_tag_gen(slot.tag) && is_broken("older")) {
		next.hi = rl_state_slot_bits(word, rl_tag_gen(slot.tag));
	} else if (rl_state_gen(word) != rl_tag_gen(slot.tag)) {
		if (rl_atomic_load(rl_table_tag(&table, slot.index)) != slot.tag)
			return false;
		next.lo = 0; /* an older key's: counts as zero */
		next.hi = rl_state_slot_bits(word, rl_tag_gen(slot.tag));
	} else if (rl_state_is_dead(word)) {
		rl_table_free(&table, slot);
		return false;
	}
	next.lo += CHARGE;
	return rl_atomic_cas16(rl_table_state(&table, slot.index), word, next);
}

struct reuse : rl::test_suite<reuse, 3> {
	cells mine;
	rl::var<unsigned> of_old, of_new;

	void
	before()
	{
		memory = &mine;
		of_old($) = 1;
		of_new($) = 0;
		mine.unwritten.store(0, rl::mo_relaxed, $);
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t tag = rl_tag_make(RL_TAG_LIVE, 1, i == 0 ? OLD : OTHERS + i);
			struct rl_u128 state = {i == 0 ? CHARGE : 0, 1};
			mine.of(rl_table_tag(&table, i)).store(tag, rl::mo_relaxed, $);
			mine.of(rl_table_state(&table, i)).store(state, rl::mo_relaxed, $);
		}
	}

	void
	thread(unsigned i)
	{
		struct rl_slot slot;

		if (i == 0) {
			bool is_found = rl_table_find(&table, &old_candidates, &slot);
			stop_for_a_while();
			if (is_found && charge(slot))
				of_old($) = 2;
		} else if (i == 1) {
			struct rl_u128 seen;
			if (rl_table_find(&table, &old_candidates, &slot)) {
				rl_atomic_load16(rl_table_state(&table, slot.index), &seen);
				rl_table_retire(&table, slot, seen);
			}
		} else {
			for (int tries = 0; tries < 2; tries++)
				if (rl_table_claim(&table, &new_candidates, &slot) < RL_CLAIM_FULL &&
				    charge(slot))
					of_new($) = of_new($) + 1;
		}
	}

	void
	after()
	{
		uint64_t tag = mine.of(rl_table_tag(&table, 0)).load(rl::mo_relaxed, $);
		struct rl_u128 state = mine.of(rl_table_state(&table, 0)).load(rl::mo_relaxed, $);
		uint64_t counted = state.lo / CHARGE;

		if (rl_tag_is(tag, RL_TAG_LIVE, OLD))
			RL_ASSERT(counted == of_old($) && of_new($) == 0);
		else if (of_new($) > 0)
			RL_ASSERT(rl_tag_is(tag, RL_TAG_LIVE, NEW) && counted == of_new($) &&
			          rl_state_gen(state) == rl_tag_gen(tag));
		else /* retired with all that was charged until then */
			RL_ASSERT(counted == of_old($));
	}
};

int
main(int argc, char **argv)
{
	return simulate<reuse>(argc, argv);
}
