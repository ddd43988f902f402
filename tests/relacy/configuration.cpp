/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two configurations come into force one after the other, on weak memory, while another process
 * reads a policy: the accesses of configure.c and policy.c and their order, on two words of
 * each bank. No reader believes a mixture, or a bank that is not yet written.
 * Broken,
 * too-early: it is put into force before it is written; relaxed-load: a load acquires nothing.
 */
#include "backend.hpp"

static uint64_t *const generation = &words[0];

static uint64_t *
word_of(uint64_t g, unsigned i)
{
	return &words[1 + 2 * (g % 2) + i];
}

/* write_bank() and what follows it; a word of a bank is changed by a CAS from what it holds. */
static void
configure(uint64_t g)
{
	if (is_broken("too-early"))
		rl_atomic_store(generation, g);
	rl_atomic_fence();
	for (unsigned i = 0; i < 2; i++)
		rl_atomic_cas(word_of(g, i), rl_atomic_load(word_of(g, i)), 10 * g);
	rl_atomic_fence();
	rl_atomic_store(generation, g);
}

struct configuration : rl::test_suite<configuration, 2> {
	cells mine;

	void
	before()
	{
		memory = &mine;
		for (unsigned i = 0; i < WORDS; i++)
			mine.word[i].store(0, rl::mo_relaxed, $);
	}

	void
	thread(unsigned i)
	{
		if (i == 0) {
			configure(1);
			configure(2);
			configure(3);
			return;
		}
		uint64_t g = rl_atomic_load(generation);
		uint64_t one = rl_atomic_load(word_of(g, 0)), two = rl_atomic_load(word_of(g, 1));
		rl_atomic_fence();
		if (rl_atomic_load(generation) == g)
			RL_ASSERT(one == 10 * g && two == 10 * g);
	}
};

int
main(int argc, char **argv)
{
	return simulate<configuration>(argc, argv);
}
