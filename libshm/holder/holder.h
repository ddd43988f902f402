/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_H
#define RL_HOLDER_H

/*
 * Seats: who holds units in flight. A process that holds any has a seat, and what it holds is
 * written beside the seat's label, so that anybody can ask whether it still lives and give back for
 * it.
 *
 *	segment     | seat 0 | seat 1: pid 4711, gen 8, began .. | seat 2 | ...
 *	                          ^
 *	label         seat 1, gen 8        in tallies and holds, 20 bits
 *
 * One CAS of 16 bytes takes a seat that is free, or whose process is dead, and raises its gen;
 * there is no seat half written. So each label is one process's while it lives, and a label whose
 * gen is not its seat's is of a process that is gone. Whoever gives a seat up keeps its gen.
 *
 * gen wraps. Units of a dead process that nobody looked at while its seat was taken 256 times count
 * as the new one's until that ends: too much is denied by it. Each process looks for a seat from
 * another place on, so that all are used alike.
 *
 * fork(2). A process's label lies in memory that is empty in its child, which therefore takes a
 * seat of its own. Threads share one. A program that calls exec(2) loses its label but not its
 * life: what it held stays held until it ends, and as another program it takes another seat. When
 * it has left eight behind, it goes on with one of these.
 *
 * Costs: a load for whoever has a seat; some 60 us to take one, and 7 us for each seat of others
 * that has to be judged for it: with 1,024 seats, of the living all, 7 ms, but once in 100 ms.
 * Nobody waits, and nothing is allocated after rl_holders_make().
 */

#include "holder/judge.h"

#include "shared/atomic.h"

/*
 * For `count` seats in the segment, RL_HOLDERS_MAX at most. NULL: no memory. Where the segment may
 * not be written, nobody takes a seat.
 */
struct rl_holders *rl_holders_make(struct rl_u128 *seats, uint32_t count, bool is_writable);

/*
 * Gives this process's seat up: what is still held under it counts as a dead process's. A child of
 * fork(2) leaves its parent's. The seats must still be mapped, and no other thread be using them.
 * NULL is fine.
 */
void rl_holders_free(struct rl_holders *h);

/*
 * This process's label: seat:12 | gen:8 << 12. Takes a seat at first use. 0; -ENOSPC: every seat is
 * a living process's, or was within the last 100 ms; -ENOMEM: the kernel cannot empty memory in a
 * child, before Linux 4.14; -EMFILE, -ENFILE: there is no descriptor to know this process by;
 * -EROFS.
 */
int rl_holders_mine(struct rl_holders *h, uint32_t *label);

/* The same, if it has a seat already; else 0. */
uint32_t rl_holders_label(const struct rl_holders *h);

/* How many seats are taken, by the living or the dead. */
uint32_t rl_holders_taken(const struct rl_holders *holders);

#endif
