/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NAMESPACE_H
#define RL_NAMESPACE_H

/*
 * What a number means that the kernel tells depends on the namespace of who asks. Two are kept in a
 * segment: times of CLOCK_BOOTTIME, which a time namespace shifts by a fixed offset, and a pid.
 * The identity of a namespace is its inode below /proc/self/ns, below 2^32; 0 is unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#define RL_SHIFT_UNKNOWN (UINT64_C(1) << 63)

struct rl_time_namespace {
	uint64_t id;
	uint64_t shift_ns; /* of CLOCK_BOOTTIME, against the host's, modulo 2^64 */
};

/* The one this process's clock is in. */
struct rl_time_namespace rl_namespace_time(void);

/*
 * What to add to a time of `mine` to have it as `theirs`: exact if both shifts are known, 0 if it
 * is the same namespace, or nothing is known of either; false if they are two, of unknown shifts.
 */
bool rl_namespace_shift(const struct rl_time_namespace *mine,
                        const struct rl_time_namespace *theirs, uint64_t *shift_ns);

/*
 * Do a segment's clock and the wall clock agree as far as they do in one namespace? The wall clock
 * may have been set since, so this is for who has nothing else to go by.
 */
bool rl_namespace_clocks_agree(uint64_t segment_ns, uint64_t wall_ns);

/* This process's pid, and which namespace that is of, in a word; and back: see rl_info.sweeper. */
uint64_t rl_namespace_pid(void);
int rl_namespace_pid_here(uint64_t word);

#endif
