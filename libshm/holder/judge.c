/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "holder/elsewhere.h"
#include "holder/seat.h"
#include "rl.h"

#define TRIES 4 /* at a seat that changes while it is judged */
#define LOOKS_BITS 8

_Static_assert(RL_HOLDERS_LOOKS < 1u << LOOKS_BITS, "they are counted");

/* Asked once: threads that ask at once store the same. */
static uint32_t
here(struct rl_holders *h)
{
	uint32_t namespace = h->own ? (uint32_t)rl_atomic_own_load(&h->own->namespace) : 0;

	if (namespace == 0) {
		namespace = rl_process_namespace();
		if (h->own)
			rl_atomic_own_store(&h->own->namespace, (uint64_t) namespace);
	}
	return namespace;
}

/* Is the seat, as it was loaded, still the label's? */
static bool
is_of(uint32_t label, struct rl_u128 seat)
{
	return !rl_seat_is_free(seat) && rl_seat_gen(seat) == rl_label_gen(label);
}

static bool
is_known_dead(const struct rl_seat_seen *seen, struct rl_u128 seat)
{
	struct rl_u128 dead;

	return rl_atomic_load16(&seen->dead, &dead) && rl_u128_equal(dead, seat);
}

/* If this fails, another thread was quicker, and its verdict is as good. */
static void
remember(struct rl_seat_seen *seen, struct rl_u128 seat)
{
	struct rl_u128 before;

	if (rl_atomic_load16(&seen->dead, &before))
		rl_atomic_cas16(&seen->dead, before, seat);
}

/*
 * So that nobody has to find out again, and others who cannot know may take the seat: it is free
 * then, and its gen stays, by which the label is dead for everybody. The partner is whoever takes
 * the seat.
 */
static void
pronounce_dead(struct rl_holders *h, uint32_t index, struct rl_u128 seat)
{
	remember(&h->seen[index], seat);
	if (h->is_writable)
		rl_atomic_cas16(&h->seats[index], seat, rl_seat_left(seat));
}

static enum rl_alive
judge(struct rl_holders *h, uint32_t index, struct rl_u128 seat)
{
	struct rl_process process = rl_seat_process(seat);
	enum rl_alive verdict;

	if (is_known_dead(&h->seen[index], seat))
		return RL_DEAD;
	verdict = rl_alive_judge(&process, here(h));
	if (verdict == RL_DEAD)
		pronounce_dead(h, index, seat);
	return verdict;
}

/*
 * Who is found alive has the seat still afterwards. One that goes on changing has the living. Who
 * is dead stays dead, whatever has become of the seat.
 */
static enum rl_alive
look(struct rl_holders *h, uint32_t label, struct rl_u128 *seat)
{
	uint32_t index = rl_label_seat(label);
	struct rl_u128 again;
	enum rl_alive verdict;

	for (int tries = 0; tries < TRIES; tries++) {
		if (!rl_atomic_load16(&h->seats[index], seat))
			continue;
		if (!is_of(label, *seat))
			return RL_DEAD;
		verdict = judge(h, index, *seat);
		if (verdict == RL_DEAD)
			return RL_DEAD;
		if (rl_atomic_load16(&h->seats[index], &again) && rl_u128_equal(again, *seat))
			return verdict;
	}
	return RL_ALIVE;
}

/* So many in a while, at whichever seats: no request pays for more. */
static bool
take_look(struct rl_holders *h, uint64_t now_ns)
{
	uint64_t word = rl_atomic_own_load(&h->looks), tick = now_ns / RL_HOLDERS_LOOK_NS;
	uint64_t count = word >> LOOKS_BITS == tick ? word & ((1u << LOOKS_BITS) - 1) : 0;

	return count < RL_HOLDERS_LOOKS &&
	       rl_atomic_own_cas(&h->looks, word, tick << LOOKS_BITS | (count + 1));
}

/* One thread at a time, and not often. */
static bool
may_look(struct rl_holders *h, struct rl_seat_seen *seen, uint64_t now_ns)
{
	uint64_t before_ns = rl_atomic_own_load(&seen->looked_ns);

	return now_ns - before_ns >= RL_HOLDERS_LOOK_NS && take_look(h, now_ns) &&
	       rl_atomic_own_cas(&seen->looked_ns, before_ns, now_ns);
}

uint32_t
rl_holders_turn(struct rl_holders *h)
{
	uint64_t turn = rl_atomic_own_load(&h->turn);

	rl_atomic_own_store(&h->turn, turn + RL_HOLDERS_LOOKS); /* who is lost was as good */
	return (uint32_t)turn;
}

bool
rl_holders_is_dead_at(struct rl_holders *h, uint32_t label, uint64_t now_ns)
{
	uint32_t index = rl_label_seat(label);
	struct rl_u128 seat;

	if (index >= h->count)
		return true;
	if (!rl_atomic_load16(&h->seats[index], &seat))
		return false;
	if (!is_of(label, seat) || is_known_dead(&h->seen[index], seat))
		return true;
	return may_look(h, &h->seen[index], now_ns) && look(h, label, &seat) == RL_DEAD;
}

uint64_t
rl_holders_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * RL_SECOND + (uint64_t)now.tv_nsec;
}

bool
rl_holders_is_dead(struct rl_holders *h, uint32_t label)
{
	return rl_holders_is_dead_at(h, label, rl_holders_now_ns());
}

enum rl_alive
rl_holders_look(struct rl_holders *h, uint32_t label, pid_t *pid)
{
	struct rl_u128 seat = {0};
	enum rl_alive verdict = RL_DEAD;

	if (rl_label_seat(label) < h->count)
		verdict = look(h, label, &seat);
	*pid = is_of(label, seat) && verdict != RL_ELSEWHERE ? rl_seat_process(seat).pid : 0;
	return verdict;
}

/*
 * The seats as they are, those of other namespaces among the strangers, each at its own index. Are
 * there any?
 */
static bool
find_strangers(struct rl_holders *h, struct rl_stranger *strangers, struct rl_u128 *seats)
{
	bool has_some = false;

	for (uint32_t i = 0; i < h->count; i++) {
		struct rl_process process;

		if (!rl_atomic_load16(&h->seats[i], &seats[i]) || rl_seat_is_free(seats[i]))
			continue;
		process = rl_seat_process(seats[i]);
		if (process.namespace == here(h))
			continue;
		strangers[i].process = process;
		has_some = true;
	}
	return has_some;
}

static int
remember_strangers(struct rl_holders *h, const struct rl_stranger *strangers,
                   const struct rl_u128 *seats)
{
	int dead = 0;

	for (uint32_t i = 0; i < h->count; i++)
		if (strangers[i].is_dead) {
			pronounce_dead(h, i, seats[i]);
			dead++;
		}
	return dead;
}

int
rl_holders_look_elsewhere(struct rl_holders *h)
{
	struct rl_stranger *strangers = calloc(h->count, sizeof *strangers);
	struct rl_u128 *seats = calloc(h->count, sizeof *seats);
	int error = strangers && seats ? 0 : -ENOMEM;

	if (error == 0 && find_strangers(h, strangers, seats)) {
		error = rl_elsewhere_judge(strangers, h->count, here(h));
		if (error == 0)
			error = remember_strangers(h, strangers, seats);
	}
	free(seats);
	free(strangers);
	return error;
}

void
rl_holders_look_here(struct rl_holders *h)
{
	for (uint32_t i = 0; i < h->count; i++) {
		struct rl_u128 seat;

		if (rl_atomic_load16(&h->seats[i], &seat) && !rl_seat_is_free(seat))
			judge(h, i, seat);
	}
}
