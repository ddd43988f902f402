/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LOG_H
#define RL_LOG_H

/*
 * The exact sliding log: the times of the last admitted units of cost, in the slot's ring. No
 * clock; of memory only the ring is read.
 *
 * Units are numbered as they are admitted: the newest has number `units`, and number u is kept
 * at u mod ring. A request of cost c at t is admitted iff unit number units - (capacity - c) is
 * not there yet or has left the window (its time <= t - window): one look, whatever the
 * capacity, which must not exceed the ring.
 *
 * The newest `pending` units, all of one time, are in the state word only: the next request of
 * a later time stores them, by CAS from what it read while the state stood, before the CAS16
 * that adds its own. Whoever is killed in between has stored what the next one stores again.
 * Storing unit u overwrites u - ring, which no capacity <= ring asks for any more. A store that
 * slept expects a time that is gone, for times in a ring's place only grow.
 *
 * State word: lo is the time of the newest unit, hi is units:14 | pending:13 above 37 bits of
 * which the slot has the lowest 9. `units` is kept below 2 * ring: at least ring of them, and the
 * same place in the ring, are all that matters of a larger number.
 */

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

struct rl_log {
	uint64_t newest_ns;
	uint32_t units;
	uint32_t pending;
};

/* Made sane for a ring of that many entries. */
struct rl_log rl_log_unpack(struct rl_word16 word, uint32_t ring_entries);
struct rl_word16 rl_log_pack(struct rl_log log, uint64_t slot_bits);

/* `log` NULL: none yet. `ring` may be read; the caller checks that the state still stands. */

/* Units at now_ns, or at the newest unit's time if that is later. */
uint32_t rl_log_used(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                     uint64_t window_ns, uint32_t capacity, uint64_t now_ns);

/* The time of the unit that is `back` before the newest; back < units, and < ring_entries. */
uint64_t rl_log_time(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                     uint32_t back);

/* When a request of cost <= capacity is first admitted; not after now_ns if it is now. */
uint64_t rl_log_admits_at(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                          uint64_t window_ns, uint32_t capacity, uint32_t cost);

/* True if `pending` must be stored before a unit of now_ns can be added. */
bool rl_log_must_store(const struct rl_log *log, uint64_t now_ns);

/* The place of the i-th pending unit, i < pending. */
uint32_t rl_log_place(const struct rl_log *log, uint32_t ring_entries, uint32_t i);

/* The state with `cost` more units at now_ns, pending ones being stored if they must. */
struct rl_log rl_log_add(const struct rl_log *log, uint32_t ring_entries, uint64_t now_ns,
                         uint32_t cost);

#endif
