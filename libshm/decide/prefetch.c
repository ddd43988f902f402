/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/prefetch.h"

#include <errno.h>
#include <sys/mman.h>

#include "algorithm/adds.h"
#include "decide/plan.h"
#include "decide/refund.h"
#include "move/follow.h"
#include "segment/stats.h"
#include "shared/wiped.h"

#define TRIES 4 /* at what another thread or process was quicker at; the request has other ways */

#define UNITS UINT64_C(0xfff)
#define BUSY (UINT64_C(1) << 14)
#define CHALLENGED (UINT64_C(1) << 15) /* another key wanted the entry since units were spent */
#define STAMP (UINT64_C(1) << 16)

_Static_assert(RL_PREFETCH_MAX <= UNITS, "units fit the word");

struct rl_prefetch *
rl_prefetch_make(void)
{
	return rl_wiped_map(sizeof(struct rl_prefetch));
}

void
rl_prefetch_free(struct rl_prefetch *prefetched)
{
	if (prefetched)
		munmap(prefetched, sizeof *prefetched);
}

/* Does a time lie in the sub-bucket in which the units were charged? */
static inline bool
is_current(const struct rl_prefetch_entry *e, const struct rl_compiled *limit, uint64_t now_ns)
{
	return now_ns - rl_atomic_own_load(&e->start_ns) < limit->limiter.window.width_ns;
}

/* Are the units good for the request? */
static inline bool
are_good(const struct rl_prefetch_entry *e, const struct rl_part *p)
{
	uint64_t tag = rl_atomic_own_load(&e->tag), slot = rl_atomic_own_load(&e->slot);

	return rl_tag_is(tag, RL_TAG_LIVE, p->candidates.key) &&
	       rl_atomic_own_load(&e->limit) == p->limit &&
	       rl_atomic_own_load(&e->segment) == p->segment &&
	       rl_atomic_own_load(&e->capacity) == p->quota.capacity &&
	       is_current(e, p->limit, p->now_ns) &&
	       slot < rl_segment_slots(p->segment) && /* not of a larger table, this moment */
	       rl_atomic_load(rl_table_tag(&p->segment->table, slot)) == tag;
}

/* Spend what the request costs. True: p->slot is where it was charged. */
static inline bool
spend(struct rl_prefetch_entry *e, struct rl_part *p)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t word = rl_atomic_own_load(&e->word);

		if ((word & BUSY) || (word & UNITS) < p->cost || !are_good(e, p))
			return false;
		p->slot.index = rl_atomic_own_load(&e->slot);
		p->slot.tag = rl_atomic_own_load(&e->tag);
		if (rl_atomic_own_cas(&e->word, word, (word - p->cost) & ~CHALLENGED))
			return true;
	}
	return false;
}

/*
 * What is left by the key's state, if a glance says so; else nothing, for it is never overstated.
 */
static int
answer_spent(struct rl_part *p)
{
	const struct rl_limiter *l = &p->limit->limiter;
	struct rl_ask ask = rl_part_ask(p);
	struct rl_plan *plan = &p->plan;
	struct rl_window_now now;

	ask.cost = 0;

	if (!p->is_asked && !p->charge)
		return RL_ALLOWED;
	if (rl_view_load(p->segment, p->slot, &p->view) != RL_SEEN ||
	    !rl_adds_to_window(&ask, plan)) {
		now = rl_window_now(&l->window, p->now_ns);
		plan->charge_id = now.epoch;
		plan->memory = 0;
		plan->decision = (struct rl_decision){
			.limit = p->quota.capacity,
			.reset_at_ns = (now.epoch + l->window.count + 1) * l->window.width_ns,
		};
	}
	if (p->charge)
		rl_part_hand_out(p, plan->charge_id, plan->memory);
	return (int)rl_part_answer(p, &plan->decision, RL_ALLOWED);
}

/* False if it is too late: then the units stay charged, and are counted as lost. */
static bool
give(const struct rl_prefetch_entry *e, uint32_t units)
{
	const struct rl_compiled *limit = e->limit; /* NULL: forked since it was seized */
	const struct rl_slot slot = {.index = e->slot, .tag = e->tag};
	const struct rl_charge charge = {.epoch = e->epoch, .cost = units};

	if (!limit)
		return false;
	if (rl_refund_slot(e->segment, &limit->limiter, NULL, slot, &charge, 0) > 0)
		return true;
	rl_stats_add_many(e->segment, limit->rule, RL_COUNT_prefetch_void, units);
	return false;
}

/* Mark it BUSY, if it is as it was seen. *word is then what to release; how many units it held. */
static bool
seize(struct rl_prefetch_entry *e, uint64_t *word, uint32_t *units)
{
	uint64_t busy = ((*word & ~(UNITS | CHALLENGED)) + STAMP) | BUSY;

	if ((*word & BUSY) || !rl_atomic_own_cas(&e->word, *word, busy))
		return false;
	*units = (uint32_t)(*word & UNITS);
	*word = busy;
	return true;
}

/* In a child that was forked since, it is not what was seized: nothing changes. */
static void
release(struct rl_prefetch_entry *e, uint64_t busy, uint32_t units)
{
	rl_atomic_own_cas(&e->word, busy, (busy & ~BUSY) | units);
}

/* Charge so many units at once, if one CAS does it and leaves what all processes may ask for. */
static bool
charge(struct rl_part *p, uint32_t units)
{
	uint64_t reserve = (uint64_t)p->segment->geometry.stripes * p->quota.prefetch;

	for (int tries = 0; tries < TRIES; tries++) {
		if (rl_part_look(p, units, RL_CHECK) != RL_ALLOWED || !rl_part_is_one_step(p) ||
		    p->plan.charge_id != rl_window_epoch(&p->limit->limiter.window, p->now_ns) ||
		    p->plan.decision.remaining < reserve)
			return false;
		if (rl_part_charge(p) != RL_AGAIN)
			return true;
	}
	return false;
}

static void
fill(struct rl_prefetch_entry *e, const struct rl_part *p)
{
	uint64_t epoch = p->plan.charge_id;

	rl_atomic_own_store(&e->limit, p->limit);
	rl_atomic_own_store(&e->segment, p->segment);
	rl_atomic_own_store(&e->capacity, p->quota.capacity);
	rl_atomic_own_store(&e->epoch, epoch);
	rl_atomic_own_store(&e->start_ns, epoch * p->limit->limiter.window.width_ns);
	rl_atomic_own_store(&e->slot, p->slot.index);
	rl_atomic_own_store(&e->tag, p->slot.tag);
}

/* Else the key was forgotten since, and what is held of it is worth nothing now. */
static bool
is_filled_from(const struct rl_prefetch_entry *e, struct rl_slot slot)
{
	return e->slot == slot.index && e->tag == slot.tag;
}

/* Of an entry that is seized and holds `held`: charge the request, or leave it empty. */
static int
refill(struct rl_prefetch_entry *e, struct rl_part *p, uint32_t cost, uint64_t busy, uint32_t held)
{
	uint32_t charged, units;

	if (held > 0 && !are_good(e, p)) {
		give(e, held);
		held = 0;
	}
	if (held >= p->quota.prefetch || !charge(p, p->quota.prefetch - held)) {
		if (held > 0)
			give(e, held);
		release(e, busy, 0);
		return RL_AGAIN;
	}
	charged = p->quota.prefetch - held;
	units = is_filled_from(e, p->slot) ? charged + held : charged;
	fill(e, p);
	if (units < cost) {
		give(e, charged);
		release(e, busy, 0);
		return RL_AGAIN;
	}
	release(e, busy, units - cost);
	if (p->charge)
		p->charge->cost = cost; /* the others are the store's */
	return RL_ALLOWED;
}

/*
 * Does it hold what another key may still spend, and has spent since somebody asked for the entry?
 */
static bool
is_anothers(const struct rl_prefetch_entry *e, uint64_t word, uint64_t key, uint64_t now_ns)
{
	const struct rl_compiled *limit = rl_atomic_own_load(&e->limit);

	return (word & UNITS) > 0 && !(word & CHALLENGED) && limit &&
	       (rl_atomic_own_load(&e->tag) & RL_TAG_KEY_MASK) != key &&
	       is_current(e, limit, now_ns);
}

int
rl_prefetch_charge(struct rl_part *p, uint64_t cost)
{
	const uint64_t key = p->candidates.key;
	struct rl_prefetch_entry *e;
	uint64_t word;
	uint32_t held;
	int charged;

	if (!p->rl->handle->prefetched || !p->segment->is_writable || cost == 0 ||
	    cost > p->quota.prefetch || !p->limit->limiter.is_window)
		return RL_AGAIN;
	p->cost = (uint32_t)cost;
	e = &p->rl->handle->prefetched->entry[key % RL_PREFETCH_ENTRIES];
	if (spend(e, p))
		return answer_spent(p);
	word = rl_atomic_own_load(&e->word);
	if (is_anothers(e, word, key, p->now_ns)) {
		rl_atomic_own_cas(&e->word, word, word | CHALLENGED);
		return RL_AGAIN;
	}
	if (!seize(e, &word, &held))
		return RL_AGAIN;
	charged = refill(e, p, (uint32_t)cost, word, held);
	p->cost = (uint32_t)cost;
	return charged;
}

int
rl_prefetch_return(struct rl *rl)
{
	int given = 0;

	rl = rl_here(rl);
	if (!rl->segment.is_writable)
		return -EROFS;
	for (unsigned i = 0; rl->handle->prefetched && i < RL_PREFETCH_ENTRIES; i++) {
		struct rl_prefetch_entry *e = &rl->handle->prefetched->entry[i];
		uint64_t word = rl_atomic_own_load(&e->word);
		uint32_t units;

		if ((word & UNITS) == 0 || !seize(e, &word, &units))
			continue;
		if (give(e, units))
			given += (int)units;
		release(e, word, 0);
	}
	return given;
}
