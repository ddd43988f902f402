/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/holder.h"

#include "rl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "holder/seat.h"
#include "shared/wiped.h"

_Static_assert(RL_HOLDERS_MAX == 1u << RL_SEAT_BITS, "every seat has a label");

/* The states of own->word. A child of fork(2) finds NONE, whatever its parent's was. */
#define NONE UINT64_C(0)
#define LEFT_MAX 8 /* seats of programs that this process was before */
#define TAKING \
	UINT64_C(1) /* so that a child forked in between does not take its parent's for its own */
#define TAKEN (UINT64_C(1) << 32) /* | label */
#define ADOPTED \
	(UINT64_C(1) << 33) /* beside TAKEN: of before exec(2), and shared with other handles */

/*
 * The seats that handles of this program have taken, in whatever segment. A seat of this process
 * that is not among them is of another program that the process was before it called exec(2). A
 * child of fork(2) has its parent's list, and another pid. Any thread, at any time.
 */
#define OWN_MAX 64

static uint64_t own[OWN_MAX]; /* a fingerprint each; 0: empty */
static uint64_t is_overfull;

/* Two of one process have another pid, gen or number. */
static uint64_t
fingerprint_of(uint32_t index, struct rl_u128 seat)
{
	return (seat.lo ^ seat.hi) << RL_SEAT_BITS | index | UINT64_C(1) << 63;
}

static bool
replace(uint64_t fingerprint, uint64_t by)
{
	for (int i = 0; i < OWN_MAX; i++)
		if (rl_atomic_own_load(&own[i]) == fingerprint &&
		    rl_atomic_own_cas(&own[i], fingerprint, by))
			return true;
	return false;
}

static void
own_add(uint32_t index, struct rl_u128 seat)
{
	if (!replace(0, fingerprint_of(index, seat)))
		rl_atomic_own_store(&is_overfull, 1);
}

static void
own_remove(uint32_t index, struct rl_u128 seat)
{
	replace(fingerprint_of(index, seat), 0);
}

/* True, too, if there were so many that not all are known. */
static bool
own_has(uint32_t index, struct rl_u128 seat)
{
	for (int i = 0; i < OWN_MAX; i++)
		if (rl_atomic_own_load(&own[i]) == fingerprint_of(index, seat))
			return true;
	return rl_atomic_own_load(&is_overfull) != 0;
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
	h->own = rl_wiped_map(sizeof(struct rl_holders_own));
	return h;
}

/*
 * Free the label's seat if it is this process's. The CAS's partner is whoever judged it and takes
 * it.
 */
static void
give_up(struct rl_holders *h, uint32_t label)
{
	struct rl_u128 *at = &h->seats[rl_label_seat(label)], seat;

	if (rl_atomic_load16(at, &seat) && rl_seat_gen(seat) == rl_label_gen(label) &&
	    rl_seat_process(seat).pid == getpid()) {
		own_remove(rl_label_seat(label), seat);
		rl_atomic_cas16(at, seat, rl_seat_left(seat));
	}
}

void
rl_holders_free(struct rl_holders *h)
{
	uint64_t word = h && h->own ? rl_atomic_own_load(&h->own->word) : NONE;

	if ((word & TAKEN) && !(word & ADOPTED))
		give_up(h, (uint32_t)word);
	if (h && h->own)
		munmap(h->own, sizeof *h->own);
	free(h);
}

/*
 * A program that calls exec(2) again and again keeps a seat of before: what it held then stays held
 * under the same label, until the process ends. It does so when it has left LEFT_MAX seats behind,
 * so that they do not run out; handles of one program never come to that many that are not known.
 */
static bool
adopt(const struct rl_holders *h, const struct rl_process *me, uint32_t *label)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < h->count && left < LEFT_MAX; i++) {
		struct rl_u128 seat;

		if (!rl_atomic_load16(&h->seats[i], &seat) || !rl_seat_is_of(seat, me) ||
		    own_has(i, seat))
			continue;
		*label = rl_label_make(i, rl_seat_gen(seat));
		left++;
	}
	return left == LEFT_MAX;
}

/*
 * May it be taken? *seat is how it is. With `from_the_dead`, one of a dead process is judged, and
 * free then.
 */
static bool
is_vacant(struct rl_holders *h, uint32_t index, struct rl_u128 *seat, bool from_the_dead)
{
	if (!rl_atomic_load16(&h->seats[index], seat))
		return false;
	if (rl_seat_is_free(*seat) || !from_the_dead)
		return rl_seat_is_free(*seat);
	return rl_holders_is_dead(h, rl_label_make(index, rl_seat_gen(*seat))) &&
	       rl_atomic_load16(&h->seats[index], seat) && rl_seat_is_free(*seat);
}

/* The CAS's partner is the same one of another process: one of them finds the seat changed. */
static bool
take(struct rl_holders *h, const struct rl_process *me, bool from_the_dead, uint32_t *label)
{
	uint32_t first = (uint32_t)me->pid + me->inode + (uint32_t)me->start;

	first += from_the_dead ? rl_holders_turn(h) : 0;
	for (uint32_t i = 0; i < h->count; i++) {
		uint32_t index = (first + i) % h->count;
		struct rl_u128 seat, next;

		if (!is_vacant(h, index, &seat, from_the_dead))
			continue;
		*label = rl_label_make(index, rl_seat_gen(seat) + 1);
		next = rl_seat_make(me, rl_label_gen(*label));
		own_add(index, next); /* before another handle can meet it */
		if (rl_atomic_cas16(&h->seats[index], seat, next))
			return true;
		own_remove(index, next);
	}
	return false;
}

/*
 * A search of all seats takes longer than many requests; so one that was in vain is not repeated at
 * once.
 */
static bool
was_full_lately(const struct rl_holders *h)
{
	uint64_t full_ns = rl_atomic_own_load(&h->own->full_ns);

	return full_ns != 0 && rl_holders_now_ns() - full_ns < RL_HOLDERS_LOOK_NS;
}

/* Then nobody can tell this process from a later one of its number: it is to have no seat yet. */
static int
out_of_descriptors(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC), error = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return error == -EMFILE || error == -ENFILE ? error : 0;
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
 * Take a seat for this process. Its threads may do so at once: the label of one becomes that of
 * all, by the CAS of own->word, and the others give theirs up, but for one that was adopted: it is
 * the process's, not the thread's. Where the word is NONE, a signal handler has forked in between
 * and this is the child: what was taken is its parent's.
 */
static int
sit_down(struct rl_holders *h)
{
	struct rl_process me;
	bool is_adopted;
	uint32_t label;
	int error;

	if (h->count == 0 || was_full_lately(h))
		return -ENOSPC;
	rl_atomic_own_cas(&h->own->word, NONE, TAKING);
	me = rl_process_self();
	error = me.start == 0 && me.inode == 0 ? out_of_descriptors() : 0;
	if (error < 0)
		return error;
	is_adopted = adopt(h, &me, &label);
	if (!is_adopted && !take(h, &me, false, &label) && !take(h, &me, true, &label))
		return stay_standing(h);
	if (!rl_atomic_own_cas(&h->own->word, TAKING, TAKEN | (is_adopted ? ADOPTED : 0) | label) &&
	    rl_atomic_own_load(&h->own->word) != NONE && !is_adopted)
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
rl_holders_label(const struct rl_holders *h)
{
	uint64_t word = h->own ? rl_atomic_own_load(&h->own->word) : NONE;

	return word & TAKEN ? (uint32_t)word : 0;
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
