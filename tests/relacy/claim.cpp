/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c on weak memory: two claim the same key while a third frees slots in its other line,
 * so that they choose different ones. Never are two slots LIVE, and who is told of a slot is
 * told of the one that is. Broken,
 * no-fence: none in resolve().
 */
#include "backend.hpp"

#include "../../libshm/table/table.c"

#define OTHERS 100 /* keys that fill the table */
#define KEY 7
#define TRIES_MAX 100

static const struct rl_candidates candidates = {{0, RL_BUCKET_SLOTS}, KEY};
static const struct rl_table table = {(struct rl_bucket *)words, 2};

struct claim : rl::test_suite<claim, 3> {
	cells mine;
	rl::var<uint64_t> told[2];

	void
	before()
	{
		memory = &mine;
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t tag = rl_tag_make(RL_TAG_LIVE, 0, OTHERS + i);
			mine.of(rl_table_tag(&table, i)).store(tag, rl::mo_relaxed, $);
			struct rl_u128 state = rl_state_retired(rl_u128(), 0);
			mine.of(rl_table_state(&table, i)).store(state, rl::mo_relaxed, $);
		}
		/* one slot is free at first */
		mine.of(rl_table_tag(&table, 0)).store(0, rl::mo_relaxed, $);
	}

	void
	thread(unsigned i)
	{
		if (i == 2) {
			for (unsigned at = RL_BUCKET_SLOTS; at < RL_BUCKET_SLOTS + 2; at++) {
				struct rl_slot slot = {at,
				                       rl_tag_make(RL_TAG_LIVE, 0, OTHERS + at)};
				rl_table_free(&table, slot);
			}
			return;
		}
		struct rl_slot slot;
		enum rl_claim claim = RL_CLAIM_BUSY;
		/* A decision tries anew, too: what it saw may have been old. */
		for (int tries = 0; claim == RL_CLAIM_BUSY && tries < TRIES_MAX; tries++)
			claim = rl_table_claim(&table, &candidates, &slot);
		RL_ASSERT(claim == RL_CLAIM_NEW || claim == RL_CLAIM_FOUND);
		told[i]($) = slot.index;
	}

	void
	after()
	{
		unsigned live = 0, at = 0;

		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t tag = mine.of(rl_table_tag(&table, i)).load(rl::mo_relaxed, $);
			if (rl_tag_is(tag, RL_TAG_LIVE, KEY)) {
				live++;
				at = i;
			}
		}
		RL_ASSERT(live == 1);
		RL_ASSERT(told[0]($) == at && told[1]($) == at);
	}
};

int
main(int argc, char **argv)
{
	return simulate<claim>(argc, argv);
}
