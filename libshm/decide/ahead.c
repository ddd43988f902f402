/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/ahead.h"

#include <errno.h>
#include <sys/mman.h>

#include "decide/refund.h"
#include "move/follow.h"
#include "segment/stats.h"

#define TRIES 4 /* at what another thread or process was quicker at; the request has other ways */

#define UNITS UINT64_C(0xfff)
#define BUSY (UINT64_C(1) << 14)
#define CHALLENGED (UINT64_C(1) << 15) /* another key wanted the entry since units were spent */
#define STAMP (UINT64_C(1) << 16)

_Static_assert(RL_PREFETCH_MAX <= UNITS, "units fit the word");

struct rl_ahead *
rl_ahead_make(void)
{
	void *at = mmap(NULL, sizeof(struct rl_ahead), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at, sizeof(struct rl_ahead), MADV_WIPEONFORK) == 0)
		return at;
	munmap(at, sizeof(struct rl_ahead));
	return NULL;
}

void
rl_ahead_free(struct rl_ahead *ahead)
{
	if (ahead)
		munmap(ahead, sizeof *ahead);
}

/* Does a time lie in the sub-bucket in which the units were charged? */
static inline bool
is_current(const struct rl_ahead_entry *e, const struct rl_compiled *limit, uint64_t now_ns)
{
	return now_ns - rl_atomic_own_load(&e->start_ns) < limit->limiter.window.width_ns;
}

/* Are the units good for the request? `key` is of its candidates. */
static inline bool
are_good(const struct rl_ahead_entry *e, const struct rl_ask *a, uint64_t key)
{
	uint64_t tag = rl_atomic_own_load(&e->tag), slot = rl_atomic_own_load(&e->slot);

	return rl_tag_is(tag, RL_TAG_LIVE, key) && rl_atomic_own_load(&e->limit) == a->limit &&
	       rl_atomic_own_load(&e->segment) == a->segment &&
	       rl_atomic_own_load(&e->capacity) == a->quota.capacity &&
	       is_current(e, a->limit, a->now_ns) &&
	       slot < rl_segment_slots(a->segment) && /* not of a larger table, this moment */
	       rl_atomic_load(rl_table_tag(&a->segment->table, slot)) == tag;
}

/* Spend what the request costs. True: *slot is where it was charged. */
static inline bool
spend(struct rl_ahead_entry *e, const struct rl_ask *a, uint64_t key, struct rl_slot *slot)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t word = rl_atomic_own_load(&e->word);

		if ((word & BUSY) || (word & UNITS) < a->cost || !are_good(e, a, key))
			return false;
		slot->index = rl_atomic_own_load(&e->slot);
		slot->tag = rl_atomic_own_load(&e->tag);
		if (rl_atomic_own_cas(&e->word, word, (word - a->cost) & ~CHALLENGED))
			return true;
	}
	return false;
}

/* What is left by the key's state, if a glance says so; else nothing, for it is never overstated. */
static int
answer_spent(const struct rl_ask *a, struct rl_slot slot)
{
	const struct rl_limiter *l = &a->limit->limiter;
	struct rl_plan plan;
	struct rl_view v;

	if (!a->result && !a->charge)
		return RL_ALLOWED;
	if (rl_view_load(a->segment, slot, &v) != RL_SEEN ||
	    !rl_limiter_adds(l, &a->quota, &v, 0, a->now_ns, &plan)) {
		plan.decision =
			rl_limiter_decision(l, &a->quota, a->cost, a->quota.capacity, a->now_ns);
		plan.charge_id = rl_window_epoch(&l->window, a->now_ns);
		plan.memory = 0;
	}
	return (int)rl_answer_charged(a, slot, &plan);
}

/* False if it is too late: then the units stay charged, and are counted as lost. */
static bool
give(const struct rl_ahead_entry *e, uint32_t units)
{
	const struct rl_compiled *limit = e->limit; /* NULL: forked since it was seized */
	const struct rl_slot slot = {.index = e->slot, .tag = e->tag};
	const struct rl_quota quota = {.capacity = (uint32_t)e->capacity};
	const struct rl_charge charge = {.epoch = e->epoch, .cost = units};

	if (!limit)
		return false;
	if (rl_refund_slot(e->segment, &limit->limiter, &quota, slot, &charge, 0))
		return true;
	rl_stats_add_many(e->segment, limit->rule, RL_COUNT_prefetch_void, units);
	return false;
}

/* Mark it BUSY, if it is as it was seen. *word is then what to release; how many units it held. */
static bool
seize(struct rl_ahead_entry *e, uint64_t *word, uint32_t *units)
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
release(struct rl_ahead_entry *e, uint64_t busy, uint32_t units)
{
	rl_atomic_own_cas(&e->word, busy, (busy & ~BUSY) | units);
}

/* Charge so many units at once, if one CAS does it and leaves what all processes may ask for. */
static bool
charge(const struct rl_ask *a, const struct rl_candidates *candidates, uint32_t units,
       struct rl_slot *slot)
{
	uint64_t reserve = (uint64_t)a->segment->geometry.stripes * a->quota.prefetch;
	struct rl_ask more = *a;
	struct rl_plan plan;
	struct rl_u128 seen;

	more.cost = units;
	for (int tries = 0; tries < TRIES; tries++) {
		if (!rl_table_find(&a->segment->table, candidates, slot) ||
		    !rl_plan_charge(&more, *slot, &seen, &plan) ||
		    plan.decision.remaining < reserve)
			return false;
		if (rl_charge_planned(&more, *slot, seen, &plan) != RL_AGAIN)
			return true;
	}
	return false;
}

static void
fill(struct rl_ahead_entry *e, const struct rl_ask *a, struct rl_slot slot)
{
	const struct rl_window *w = &a->limit->limiter.window;
	uint64_t epoch = rl_window_epoch(w, a->now_ns);

	rl_atomic_own_store(&e->limit, a->limit);
	rl_atomic_own_store(&e->segment, a->segment);
	rl_atomic_own_store(&e->capacity, a->quota.capacity);
	rl_atomic_own_store(&e->epoch, epoch);
	rl_atomic_own_store(&e->start_ns, epoch * w->width_ns);
	rl_atomic_own_store(&e->slot, slot.index);
	rl_atomic_own_store(&e->tag, slot.tag);
}

/* Else the key was forgotten since, and what is held of it is worth nothing now. */
static bool
is_filled_from(const struct rl_ahead_entry *e, struct rl_slot slot)
{
	return e->slot == slot.index && e->tag == slot.tag;
}

/* Of an entry that is seized and holds `held`: charge the request, or leave it empty. */
static int
refill(struct rl_ahead_entry *e, const struct rl_ask *a, const struct rl_candidates *candidates,
       uint64_t busy, uint32_t held)
{
	struct rl_slot slot;
	uint32_t charged, units;

	if (held > 0 && !are_good(e, a, candidates->key)) {
		give(e, held);
		held = 0;
	}
	if (held >= a->quota.prefetch || !charge(a, candidates, a->quota.prefetch - held, &slot)) {
		if (held > 0)
			give(e, held);
		release(e, busy, 0);
		return RL_AGAIN;
	}
	charged = a->quota.prefetch - held;
	units = is_filled_from(e, slot) ? charged + held : charged;
	fill(e, a, slot);
	if (units < a->cost) {
		give(e, charged);
		release(e, busy, 0);
		return RL_AGAIN;
	}
	release(e, busy, units - a->cost);
	if (a->charge)
		a->charge->cost = a->cost; /* the others are the store's */
	return RL_ALLOWED;
}

/* Does it hold what another key may still spend, and has spent since somebody asked for the entry? */
static bool
is_anothers(const struct rl_ahead_entry *e, uint64_t word, uint64_t key, uint64_t now_ns)
{
	const struct rl_compiled *limit = rl_atomic_own_load(&e->limit);

	return (word & UNITS) > 0 && !(word & CHALLENGED) && limit &&
	       (rl_atomic_own_load(&e->tag) & RL_TAG_KEY_MASK) != key &&
	       is_current(e, limit, now_ns);
}

int
rl_ahead_charge(struct rl *rl, const struct rl_ask *a, const struct rl_candidates *candidates)
{
	struct rl_ahead_entry *e;
	struct rl_slot slot;
	uint64_t word;
	uint32_t held;

	if (!rl->handle->ahead || !rl->segment.is_writable || a->cost > a->quota.prefetch ||
	    !rl_limiter_is_window(&a->limit->limiter))
		return RL_AGAIN;
	e = &rl->handle->ahead->entry[candidates->key % RL_AHEAD_ENTRIES];
	if (spend(e, a, candidates->key, &slot))
		return answer_spent(a, slot);
	word = rl_atomic_own_load(&e->word);
	if (is_anothers(e, word, candidates->key, a->now_ns)) {
		rl_atomic_own_cas(&e->word, word, word | CHALLENGED);
		return RL_AGAIN;
	}
	if (!seize(e, &word, &held))
		return RL_AGAIN;
	return refill(e, a, candidates, word, held);
}

int
rl_give_back(struct rl *rl)
{
	int given = 0;

	rl = rl_here(rl);
	if (!rl->segment.is_writable)
		return -EROFS;
	for (unsigned i = 0; rl->handle->ahead && i < RL_AHEAD_ENTRIES; i++) {
		struct rl_ahead_entry *e = &rl->handle->ahead->entry[i];
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
