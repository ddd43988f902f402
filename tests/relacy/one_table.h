/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ONE_TABLE_H
#define RL_ONE_TABLE_H

/*
 * What decide.c and view.c ask of a segment's tables and of its clock, for tests of one table whose
 * clock stands.
 */

int
rl_migrate(rl_sought *)
{
	return 0;
}

uint64_t
rl_segment_now(const rl_segment *)
{
	return 1;
}

#endif
