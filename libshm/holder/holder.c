/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/holder.h"

#include "rl.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holder/seat.h"

_Static_assert(RL_HOLDERS_MAX == 1u << RL_SEAT_BITS, "every seat has a label");

/* What own->word says. A child of fork(2) finds NONE, whatever its parent's was. */
#define NONE UINT64_C(0)
#define TAKING \
	UINT64_C(1) /* so that a child forked in between does not take its parent's for its own */
#define TAKEN (UINT64_C(1) << 32) /* | label */

static struct rl_holders_own *
make_own(void)
{
	void *at = mmap(NULL, sizeof(struct rl_holders_own), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at, sizeof(struct rl_holders_own), MADV_WIPEONFORK) == 0)
		return at;
	munmap(at, sizeof(struct rl_holders_own));
	return NULL;
}

struct rl_holders *
rl_holders_make(struct rl_u128 *seats, uint32_t count, bool is_writable)
{
	struct rl_holders *h;

	if (count > RL_HOLDERS_MAX)
		count = RL_HOLDERS_MAX;
	h = calloc(1, sizeof *h + count * sizeof h->seen[0]);
	if (!h)
		return NULL;
	h->seats = seats;
	h->count = count;
	h->is_writable = is_writable;
	h->own = make_own();
	return h;
}

/* Free the label's seat if it is this process's. The CAS's partner is whoever judged it and takes it. */
static void
give_up(struct rl_holders *h, uint32_t label)
{
	const struct rl_process nobody = {0};
	struct rl_u128 *at = &h->seats[rl_label_seat(label)], seat;

	if (rl_atomic_load16(at, &seat) && rl_seat_gen(seat) == rl_label_gen(label) &&
	    rl_seat_process(seat).pid == getpid())
		rl_atomic_cas16(at, seat, rl_seat_make(&nobody, rl_seat_gen(seat)));
}

void
rl_holders_free(struct rl_holders *h)
{
	uint64_t word = h && h->own ? rl_atomic_own_load(&h->own->word) : NONE;

	if (word & TAKEN)
		give_up(h, (uint32_t)word);
	if (h && h->own)
		munmap(h->own, sizeof *h->own);
	free(h);
}

/* May it be taken, as it was loaded? With `from_the_dead`, it may also be one of a dead process. */
static bool
is_vacant(struct rl_holders *h, uint32_t index, struct rl_u128 seat, bool from_the_dead)
{
	if (rl_seat_is_free(seat))
		return true;
	return from_the_dead && rl_holders_is_dead(h, rl_label_make(index, rl_seat_gen(seat)));
}

/* The CAS's partner is the same one of another process: one of them finds the seat changed. */
static bool
take(struct rl_holders *h, const struct rl_process *me, bool from_the_dead, uint32_t *label)
{
	uint32_t first = ((uint32_t)me->pid + me->inode + (uint32_t)me->start) % h->count;

	for (uint32_t i = 0; i < h->count; i++) {
		uint32_t index = (first + i) % h->count;
		struct rl_u128 seat;

		if (!rl_atomic_load16(&h->seats[index], &seat) ||
		    !is_vacant(h, index, seat, from_the_dead))
			continue;
		*label = rl_label_make(index, rl_seat_gen(seat) + 1);
		if (rl_atomic_cas16(&h->seats[index], seat, rl_seat_make(me, rl_label_gen(*label))))
			return true;
	}
	return false;
}

/* A search of all seats takes longer than many requests; so one that was in vain is not repeated at once. */
static bool
was_full_lately(const struct rl_holders *h)
{
	uint64_t full_ns = rl_atomic_own_load(&h->own->full_ns);

	return full_ns != 0 && rl_holders_now_ns() - full_ns < RL_HOLDERS_LOOK_NS;
}

/* Another thread may have found one meanwhile. */
static int
stay_standing(struct rl_holders *h)
{
	if (rl_atomic_own_load(&h->own->word) & TAKEN)
		return 0;
	rl_atomic_own_store(&h->own->full_ns, rl_holders_now_ns());
	return -ENOSPC;
}

/*
 * Take a seat for this process. Its threads may do so at once: the label of one becomes that of all, by
 * the CAS of own->word, and the others give theirs up. Where the word is NONE, a signal handler has
 * forked in between and this is the child: what was taken is its parent's.
 */
static int
sit_down(struct rl_holders *h)
{
	struct rl_process me;
	uint32_t label;

	if (h->count == 0 || was_full_lately(h))
		return -ENOSPC;
	rl_atomic_own_cas(&h->own->word, NONE, TAKING);
	me = rl_process_self();
	if (!take(h, &me, false, &label) && !take(h, &me, true, &label))
		return stay_standing(h);
	if (!rl_atomic_own_cas(&h->own->word, TAKING, TAKEN | label) &&
	    rl_atomic_own_load(&h->own->word) != NONE)
		give_up(h, label);
	return 0;
}

int
rl_holders_mine(struct rl_holders *h, uint32_t *label)
{
	int error = h->own ? 0 : -ENOMEM;

	if (!h->is_writable)
		return -EROFS;
	while (error == 0) {
		uint64_t word = rl_atomic_own_load(&h->own->word);
		*label = (uint32_t)word;
		if (word & TAKEN)
			return 0;
		error = sit_down(h);
	}
	return error;
}

uint32_t
rl_holders_taken(const struct rl_holders *h)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < h->count; i++)
		taken += !rl_seat_is_free(
			(struct rl_u128){.lo = rl_atomic_load_relaxed(&h->seats[i].lo)});
	return taken;
}
