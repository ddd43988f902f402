/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_SEAT_H
#define RL_HOLDER_SEAT_H

/*
 * A seat as it lies in the segment, 16 bytes, and what a process keeps beside all seats. For
 * holder.c and judge.c alone.
 *
 *	lo   pid:22 | gen:8 | start:34     hi   pid namespace:32 | inode:32     lowest bits first
 *
 * A seat without a pid is free. Any process may write any bytes there.
 */

#include "holder/alive.h"
#include "shared/atomic.h"
#include "shared/layout_slot.h"

#define RL_SEAT_BITS 12
#define RL_SEAT_PID_BITS 22
#define RL_SEAT_GEN_MASK 0xffu
#define RL_SEAT_PID_MASK ((UINT64_C(1) << RL_SEAT_PID_BITS) - 1)
#define RL_SEAT_START_SHIFT (RL_SEAT_PID_BITS + 8)

_Static_assert(RL_SEAT_START_SHIFT + RL_PROCESS_START_BITS == 64, "a seat's half is full");

/* This process's findings about a seat, in its own memory. */
struct rl_seat_seen {
	struct rl_u128 dead; /* the seat when its process was found dead: for ever true of that
	                        word */
	uint64_t looked_ns;
	uint64_t spare;
};

/*
 * In memory that the kernel empties in a child of fork(2): so it never takes itself for its parent.
 */
struct rl_holders_own {
	uint64_t word;      /* NONE, TAKING, or its label: holder.c */
	uint64_t namespace; /* of pids; 0: not asked yet */
	uint64_t full_ns;   /* when no seat was found; 0: never */
};

struct rl_holders {
	struct rl_u128 *seats; /* in the segment */
	uint32_t count;
	bool is_writable;
	uint64_t looks;             /* at seats, in this while: judge.c */
	uint64_t turn;              /* where the next search begins */
	struct rl_holders_own *own; /* NULL: the kernel has no such memory */
	struct rl_seat_seen seen[];
};

static inline uint32_t
rl_seat_gen(struct rl_u128 seat)
{
	return (uint32_t)(seat.lo >> RL_SEAT_PID_BITS) & RL_SEAT_GEN_MASK;
}

static inline bool
rl_seat_is_free(struct rl_u128 seat)
{
	return (seat.lo & RL_SEAT_PID_MASK) == 0;
}

static inline struct rl_u128
rl_seat_make(const struct rl_process *p, uint32_t gen)
{
	return (struct rl_u128){
		.lo = ((uint64_t)p->pid & RL_SEAT_PID_MASK) |
	              (uint64_t)(gen & RL_SEAT_GEN_MASK) << RL_SEAT_PID_BITS |
	              p->start << RL_SEAT_START_SHIFT,
		.hi = p->namespace | (uint64_t)p->inode << 32,
	};
}

static inline struct rl_process
rl_seat_process(struct rl_u128 seat)
{
	return (struct rl_process){
		.start = seat.lo >> RL_SEAT_START_SHIFT,
		.pid = (pid_t)(seat.lo & RL_SEAT_PID_MASK),
		.namespace = (uint32_t)seat.hi,
		.inode = (uint32_t)(seat.hi >> 32),
	};
}

/* Is it of that process, as far as it is known? */
static inline bool
rl_seat_is_of(struct rl_u128 seat, const struct rl_process *p)
{
	struct rl_u128 other = rl_seat_make(p, rl_seat_gen(seat));

	return (p->start != 0 || p->inode != 0) && seat.lo == other.lo && seat.hi == other.hi;
}

/* The same seat without anybody: its gen stays. */
static inline struct rl_u128
rl_seat_left(struct rl_u128 seat)
{
	const struct rl_process nobody = {0};

	return rl_seat_make(&nobody, rl_seat_gen(seat));
}

/* A label names a seat and its gen. */
static inline uint32_t
rl_label_make(uint32_t seat, uint32_t gen)
{
	return seat | (gen & RL_SEAT_GEN_MASK) << RL_SEAT_BITS;
}

static inline uint32_t
rl_label_seat(uint32_t label)
{
	return label & ((1u << RL_SEAT_BITS) - 1);
}

static inline uint32_t
rl_label_gen(uint32_t label)
{
	return label >> RL_SEAT_BITS;
}

#endif
