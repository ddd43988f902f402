/* SPDX-License-Identifier: BSD-2-Clause */
#include "charges.h"

int
rlb_refund(struct rl *rl, struct rl_charges *charges, bool holds)
{
	struct rl_hold held[RL_LIMITS_MAX];
	size_t count = holds ? 0 : rl_holds(charges, held, RL_LIMITS_MAX);
	int done = rl_refund(rl, charges);

	for (size_t i = 0; i < count; i++)
		charges->charge[charges->count++] = held[i].charge;
	return done;
}
