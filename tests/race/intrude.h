/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_INTRUDE_H
#define RL_INTRUDE_H

/*
 * One call, and another that runs whole in the middle of it: before the first, the second, each
 * access to a shared word of the first. What must hold afterwards must hold wherever it came.
 * For one file of a program: it defines the hook.
 */
#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

void rl_atomic_hook(void);

typedef void call_fn(struct rl *rl, int rule);

static call_fn *intruder;
static struct rl *of;
static int rule_of;
static int wait_for; /* accesses until the intruder comes; 0: it does not */

void
rl_atomic_hook(void)
{
	if (wait_for > 0 && --wait_for == 0)
		intruder(of, rule_of);
}

/* Run `first`, with `second` before its n-th access. False if it has not as many. */
static bool
intrude(struct rl *rl, int rule, call_fn *first, call_fn *second, int n)
{
	bool has_come;

	of = rl;
	rule_of = rule;
	intruder = second;
	wait_for = n;
	first(rl, rule);
	has_come = wait_for == 0;
	wait_for = 0;
	return has_come;
}

static inline enum rl_verdict
check(struct rl *rl, int rule)
{
	return at_check(rl, rule, "k", 1, 1, T0, NULL);
}

#endif
