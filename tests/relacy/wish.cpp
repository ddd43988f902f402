/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wishes on weak memory: two workers note what they deny two keys, whose halves are of one word, while one takes it.
 * What was taken and what is still there is all that was denied, once; and where something is there, the summary says
 * so, so that the next look finds it.
 *
 * Broken:
 *	no-cas       a half is stored whatever the word is by now
 *	no-fence     a worker finds the summary set, and who takes has cleared it, and finds no wish yet
 */
#include "backend.hpp"

static bool
swap_word(uint64_t *word, uint64_t seen, uint64_t next)
{
	if (!is_broken("no-cas"))
		return rl_atomic_cas(word, seen, next);
	rl_atomic_store(word, next);
	return true;
}

#define rl_atomic_cas swap_word
/* What C++ does not take: [static N], a struct of the name of Relacy's namespace. */
#define static
#define rl rl_opened
#undef EAGAIN /* Relacy's */
#define EAGAIN 11
#undef EBUSY
#define EBUSY 16
#undef EINVAL
#define EINVAL 22
#include "../../libshm/segment/wish.c"
#undef rl
#undef static
#undef rl_atomic_cas

#define WORKERS 2
#define DENIALS 3
#define TAKES 3
#define MOST 1000 /* where sums may stop: never here */

static rl_segment segment;
static unsigned denied[2], taken[2]; /* by slot */

static void
take(void)
{
	rl_wish of[RL_WISH_SLOTS];
	uint64_t at = 0, first = 0;
	uint64_t bits = rl_wish_take(&segment, &at, &first, of);

	for (unsigned i = 0; i < 2; i++)
		if ((bits >> i & 1) != 0)
			taken[i] += of[i].denied;
}

struct wish : rl::test_suite<wish, WORKERS + 1> {
	cells mine;

	void
	before()
	{
		memory = &mine;
		memset(denied, 0, sizeof denied);
		memset(taken, 0, sizeof taken);
		mine.unwritten.store(0, rl::mo_relaxed, $);
		for (unsigned i = 0; i <= RL_WISH_SLOTS / 2; i++)
			mine.of(&words[i]).store(0, rl::mo_relaxed, $);
	}

	void
	thread(unsigned i)
	{
		for (int n = 0; i == WORKERS && n < TAKES; n++) {
			stop_for_a_while();
			take();
		}
		for (int n = 0; i < WORKERS && n < DENIALS; n++) {
			unsigned slot = rl::rand(2), cost = 1 + rl::rand(3);

			denied[slot] += cost;
			rl_wish_denied(&segment, slot, cost, MOST);
		}
	}

	void
	after()
	{
		uint64_t left = mine.of(&words[0]).load(rl::mo_relaxed, $);
		uint64_t summary = mine.of(&words[RL_WISH_SLOTS / 2]).load(rl::mo_relaxed, $);

		for (unsigned i = 0; i < 2; i++)
			RL_ASSERT(taken[i] + sum_of((uint32_t)(left >> 32 * i)) == denied[i]);
		RL_ASSERT(left == 0 || summary != 0);
	}
};

int
main(int argc, char **argv)
{
	segment.geometry.buckets = 2;
	segment.geometry.clustered = 1;
	segment.wishes = words;
	return simulate<wish>(argc, argv);
}
