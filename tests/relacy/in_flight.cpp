/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Units in flight on weak memory: three processes acquire and release units of one key by decide.c,
 * release.c and all below them (find, claim, load, take, store, give, reclaim, retire). A process
 * releases what it holds, hands the hold to another process, or keeps it to the end. It may also
 * sweep, which gives back for the dead and retires the slot if nothing is held, or reset the key,
 * which retires the slot whatever is held. The first process is killed before some access; the next
 * one has its seat and another label. Each process is stopped for a while once. Seats are not
 * simulated: the test knows who is dead.
 *
 * Each CAS16 of the state that succeeds is judged by a count beside it. The total and the newest
 * tally change by the same units. The total is at most the capacity. A tally grows by its own
 * process alone, and falls by a release of its hold, or to nothing for the dead: so each unit comes
 * back once. A release finds its tally, unless its process is dead or the key was reset. At the end
 * the tallies are what the processes hold, and the total is their sum.
 *
 * Broken:
 *	unstored   another tally becomes the newest, and the one that was is not in the ring
 *	unseen     a tally is stored though the state may have moved on
 *	no-seq     the sequence stands still
 *	same-seq   the sequence begins each incarnation of the slot at the same number
 *	undead     units of the living are given back
 *	relaxed-load, -load16, -cas, -cas16: those order nothing
 *
 * Of relaxed-load the load in rl_ring_store() is what fails, of the two CAS the releasing half. The
 * rest is not needed here. Each of these held in 250,000 runs:
 *	relaxed loads and CAS of tags   a state of another gen counts as zero, and where that was
 *	                                wrong the CAS16 fails
 *	relaxed loads of other tallies  the load16 of the state before them acquires
 *	a CAS or CAS16 without acquire  the load of the word that it expects has acquired, and the
 *	                                word does not come back
 *	a release that finds nothing and does not look again
 *	                                a process that has the hold has seen a state with its units,
 *	                                and their place keeps them
 */
#include "backend.hpp"

#define PROCESSES 3
#define ACTIONS 5
#define PLACES 3
#define CAPACITY 6
#define COST_MAX 2
#define LIFE_MAX 100 /* accesses of the one that is killed */
#define AWAKE_MAX 40 /* accesses before a stop */
#define GEN 1
#define OTHERS 100                   /* keys that fill the table, but for a slot */
#define HASH (UINT64_C(1) << 63 | 7) /* its candidates are in both buckets */
#define LABELS (2 * PROCESSES)
#define LABEL(seat, gen) ((seat) | (gen) << 12)

/* What C++ does not take: [static N], a field of that name, a struct of the name of Relacy's
 * namespace. */
#define namespace namespace_of_pids
#include "holder/alive.h"
#undef namespace
#define static
#define rl rl_opened
#undef EAGAIN /* Relacy's */
#define EAGAIN 11
#undef EBUSY
#define EBUSY 16
#undef EINVAL
#define EINVAL 22

/* Not shared by decisions, or not reached by these. */
#define RL_STATS_H
#define rl_stats_add(...) ((void)0)
#define rl_stats_add_many(...) ((void)0)

bool change(rl_u128 *state, rl_u128 seen, rl_u128 next);
#define rl_atomic_cas16 change

#include "../../libshm/algorithm/algorithms.c"
#include "../../libshm/algorithm/anchored_ops.c"
#include "../../libshm/algorithm/counter_ops.c"
#include "../../libshm/algorithm/gcra.c"
#include "../../libshm/algorithm/gcra_ops.c"
#include "../../libshm/algorithm/log.c"
#include "../../libshm/algorithm/log_ops.c"
#include "../../libshm/algorithm/ops.c"
#include "../../libshm/algorithm/share_bucket.c"
#include "../../libshm/algorithm/share_ops.c"
#include "../../libshm/algorithm/window.c"
#include "../../libshm/algorithm/window_refund.c"
#include "../../libshm/algorithm/window_ops.c"
#include "../../libshm/table/table.c"

#define rl_u128_equal(a, b) (is_broken("unseen") || rl_u128_equal(a, b))
#include "../../libshm/algorithm/ring.c"
#undef rl_u128_equal

#include "../../libshm/algorithm/in_flight.c"
#include "../../libshm/segment/chance.c"
#include "../../libshm/segment/view.c"

bool store(uint64_t *entry, uint64_t value, const rl_u128 *state, rl_u128 seen);
rl_in_flight unpack(rl_u128 word, bool is_zero, uint8_t gen, uint32_t ring_entries);
#define rl_ring_store store
#define rl_in_flight_unpack unpack
#include "../../libshm/holder/units.c"
#undef rl_ring_store
#undef rl_in_flight_unpack

#include "../../libshm/decide/decide.c"
#include "../../libshm/decide/plan.c"
#include "../../libshm/decide/share_wish.c"

rl_opened handle;
rl_handle of_handle;
rl_compiled limit;

#define rl_handle_limit(...) (&::limit)
#include "../../libshm/decide/release.c"
#undef rl_handle_limit
#undef rl
#undef static

/* Nothing is evicted; the key's slot is soon free. */
rl_eviction
rl_evict_for(rl_opened *, const rl_compiled *, const rl_candidates *, rl_budget *, uint64_t)
{
	return {.is_freed = true};
}

#include "no_overflow.h"
#include "one_table.h"

int
rl_handle_no_limit(const rl_opened *, int)
{
	return -EINVAL;
}

rl_opened *
rl_follow(rl_opened *)
{
	return &handle;
}

/* No event is told. */
void
rl_report_full(const rl_part *)
{
}

const void *
rl_part_name(const rl_part *p, char *, size_t *len)
{
	*len = p->key_len;
	return p->key;
}

void
rl_named_write(const rl_segment *, const rl_compiled *, rl_slot, uint64_t, const void *, size_t)
{
}

void
rl_named_hash(const rl_segment *, const rl_compiled *, rl_slot, uint64_t, const void *, size_t)
{
}

bool
rl_wish_low(const rl_segment *, uint64_t)
{
	return false;
}

bool
rl_wish_denied(const rl_segment *, uint64_t, uint32_t, uint32_t)
{
	return false;
}

void
rl_wish_waits(const rl_segment *, uint64_t)
{
}

bool
rl_wish_is_dry(const rl_segment *, uint64_t)
{
	return false;
}

void
rl_wish_dry(const rl_segment *, uint64_t, bool)
{
}

size_t
rl_network_text(const unsigned char *, char *)
{
	return 0;
}

bool
store(uint64_t *entry, uint64_t value, const rl_u128 *state, rl_u128 seen)
{
	return is_broken("unstored") || rl_ring_store(entry, value, state, seen);
}

rl_in_flight
unpack(rl_u128 word, bool is_zero, uint8_t gen, uint32_t ring_entries)
{
	rl_in_flight f = rl_in_flight_unpack(word, is_zero, gen, ring_entries);

	if (is_broken("no-seq") && !is_zero)
		f.seq--;
	if (is_broken("same-seq") && is_zero)
		f.seq = 0;
	return f;
}

struct process {
	unsigned gen;   /* of its seat */
	uint32_t label; /* of a hold that it acquires or releases: whose, */
	int units;      /* and by how many the tally grows */
	bool resets;    /* it retires the slot whatever is held */
	unsigned accesses, life, stop;
};

static process processes[PROCESSES];
static unsigned held[LABELS]; /* by the changes of the state */
static unsigned told[LABELS]; /* by what acquire() and release() return, of the living */
static unsigned retired_gen;  /* the slot's newest that was retired */
static bool is_over;          /* all processes have ended */

static unsigned &
of(unsigned *counts, uint32_t label)
{
	unsigned i = (label >> 12) * PROCESSES + (label & 0xfff);

	RL_ASSERT(i < LABELS);
	return counts[i];
}

static unsigned
current(void)
{
	return rl::ctx().current_thread();
}

static bool
is_dead(uint32_t label)
{
	return processes[label & 0xfff].gen != label >> 12;
}

bool
rl_holders_is_dead(rl_holders *, uint32_t label)
{
	return is_dead(label) || is_broken("undead");
}

uint32_t
rl_holders_turn(rl_holders *)
{
	return 0;
}

uint32_t
rl_holders_label(const rl_holders *)
{
	return processes[current()].label;
}

int
rl_holders_mine(rl_holders *, uint32_t *label)
{
	*label = LABEL(current(), processes[current()].gen);
	return 0;
}

static unsigned
all(const unsigned *counts)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < LABELS; i++)
		sum += counts[i];
	return sum;
}

/* Between the compare-and-swap and this there is no access. */
static void
judge(rl_u128 next)
{
	const process *p = &processes[current()];
	rl_in_flight f = rl_in_flight_unpack(next, false, 0, PLACES);
	uint32_t label = f.newest.label;
	unsigned before = of(held, label);

	if (rl_state_is_dead(next)) {
		RL_ASSERT(all(held) == 0 || p->resets);
		memset(held, 0, sizeof held);
		memset(told, 0, sizeof told);
		retired_gen = rl_state_gen(next);
		return;
	}
	of(held, label) = f.newest.units;
	RL_ASSERT(f.total == all(held) && f.total <= CAPACITY);
	if (label != p->label || f.newest.units != before + p->units)
		RL_ASSERT(is_dead(label) && f.newest.units == 0 && before > 0);
}

#undef rl_atomic_cas16
bool
change(rl_u128 *state, rl_u128 seen, rl_u128 next)
{
	bool is_done = rl_atomic_cas16(state, seen, next);

	/* The word that is put into a slot that has none is nobody's. */
	if (is_done && (seen.lo | seen.hi) != 0)
		judge(next);
	return is_done;
}

struct killed {
};

static void
live_on(void)
{
	process *p = &processes[current()];

	if (is_over)
		return;
	if (current() == 0 && p->gen == 0 && p->accesses >= p->life)
		throw killed();
	if (p->accesses++ == p->stop)
		stop_for_a_while();
}

static void
prepare(void)
{
	rl_segment *s = &handle.segment;

	handle.here = of_handle.first = &handle;
	handle.handle = &of_handle;
	s->is_writable = true;
	s->geometry.buckets = 2;
	s->geometry.ring = PLACES;
	s->table = {(rl_bucket *)words, 2};
	s->rings = &words[TABLE_WORDS];
	rl_limiter_set(&limit.limiter, RL_IN_FLIGHT);
	limit.limiter.ring_entries = PLACES;
}

static rl_candidates
candidates(void)
{
	return rl_table_candidates(&handle.segment.table, limit.owner, HASH);
}

static bool
acquire(unsigned cost, rl_charge *hold)
{
	process *p = &processes[current()];
	rl_budget budget = {RL_DECIDE_STEPS};
	rl_part part = {};
	rl_result r = {};

	part.rl_opened = &handle;
	part.key = "k";
	part.key_len = 1;
	part.segment = &handle.segment;
	part.limit = &limit;
	part.quota.capacity = CAPACITY;
	part.hash = HASH;
	part.result = &r;
	part.charge = hold;
	part.budget = &budget;
	part.candidates = candidates();
	rl_holders_mine(NULL, &p->label);
	part.quota.label = p->label;
	p->units = cost;
	rl_part_decide(&part, cost, RL_CHECK);
	p->units = 0;
	if (r.verdict != RL_ALLOWED) {
		RL_ASSERT(r.verdict == RL_DENIED);
		return false;
	}
	of(told, p->label) += cost;
	RL_ASSERT(of(held, p->label) == of(told, p->label));
	return true;
}

static void
release(rl_charge hold)
{
	process *p = &processes[current()];
	unsigned cost = hold.cost;
	int done;

	p->label = hold.epoch >> RL_CHARGE_PLACE_BITS;
	p->units = -(int)cost;
	done = rl_release_charge(&handle, &hold, RL_COUNT_released, true);
	p->units = 0;
	RL_ASSERT(done == 1 || is_dead(p->label) || hold.gen <= retired_gen);
	if (done == 0 || is_dead(p->label))
		return;
	of(told, p->label) -= cost;
	RL_ASSERT(of(held, p->label) == of(told, p->label));
}

/* Give back for the dead; then free the slot if nothing is held, or whatever is held. */
static void
sweep(bool resets)
{
	process *p = &processes[current()];
	rl_budget budget = {RL_DECIDE_STEPS};
	rl_candidates c = candidates();
	rl_slot slot;
	rl_view v;

	if (!rl_table_find(&handle.segment.table, &c, &slot))
		return;
	rl_units_reclaim(&handle, &limit, slot, &budget);
	if (rl_view_load(&handle.segment, slot, &v) != RL_SEEN || v.is_zero)
		return;
	p->resets = resets;
	if (resets || rl_in_flight_total(v.word) == 0)
		rl_table_retire(&handle.segment.table, slot, v.word);
	p->resets = false;
}

struct in_flight : rl::test_suite<in_flight, PROCESSES> {
	cells mine;
	const rl_table *table = &handle.segment.table;
	rl_charge handed[PROCESSES]; /* by whom */
	rl::atomic<unsigned> is_handed[PROCESSES];

	void
	before()
	{
		memory = &mine;
		is_over = false;
		retired_gen = 0;
		memset(held, 0, sizeof held);
		memset(told, 0, sizeof told);
		memset(processes, 0, sizeof processes);
		mine.unwritten.store(0, rl::mo_relaxed, $);
		for (unsigned i = 0; i < PLACES; i++)
			mine.of(&words[TABLE_WORDS + i]).store(0, rl::mo_relaxed, $);
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t tag = rl_tag_make(RL_TAG_LIVE, GEN, OTHERS + i);
			if (i == 0)
				tag = rl_tag_make(RL_TAG_LIVE, GEN, candidates().key);
			mine.of(rl_table_tag(table, i)).store(tag, rl::mo_relaxed, $);
			mine.of(rl_table_state(table, i)).store(rl_u128(), rl::mo_relaxed, $);
		}
		for (unsigned i = 0; i < PROCESSES; i++)
			is_handed[i].store(0, rl::mo_relaxed, $);
	}

	/* Release what another process has handed on. */
	bool
	take_over(unsigned i)
	{
		for (unsigned by = 0; by < PROCESSES; by++)
			if (by != i && is_handed[by].exchange(0, rl::mo_acquire, $)) {
				release(handed[by]);
				return true;
			}
		return false;
	}

	void
	acquire_one(unsigned i)
	{
		unsigned then = rl::rand(3);
		rl_charge hold;

		if (!acquire(1 + rl::rand(COST_MAX), &hold))
			return;
		if (then == 0) {
			release(hold);
		} else if (then == 1 && !is_handed[i].load(rl::mo_acquire, $)) {
			handed[i] = hold;
			is_handed[i].store(1, rl::mo_release, $);
		}
	}

	void
	live(unsigned i)
	{
		for (int n = 0; n < ACTIONS; n++) {
			unsigned what = rl::rand(12);

			if (what < 2)
				sweep(what == 0);
			else if (!take_over(i))
				acquire_one(i);
		}
	}

	void
	thread(unsigned i)
	{
		process *p = &processes[i];

		p->life = rl::rand(LIFE_MAX);
		p->stop = rl::rand(AWAKE_MAX);
		try {
			live(i);
		} catch (killed) {
			p->gen++;
			live(i);
		}
	}

	void
	after()
	{
		unsigned living = 0;
		rl_u128 word;
		uint64_t tag;

		is_over = true;
		for (unsigned i = 0; i < LABELS; i++) {
			uint32_t label = LABEL(i % PROCESSES, i / PROCESSES);
			if (!is_dead(label)) {
				RL_ASSERT(held[i] == told[i]);
				living += told[i];
			}
		}
		if (processes[0].gen > 0)
			sweep(false);
		tag = rl_atomic_load(rl_table_tag(table, 0));
		rl_atomic_load16(rl_table_state(table, 0), &word);
		if (rl_state_gen(word) != rl_tag_gen(tag) || rl_state_is_dead(word)) {
			RL_ASSERT(living == 0);
			return;
		}
		RL_ASSERT(rl_in_flight_total(word) == living);
		const rl_view v = {.word = word, .ring = &words[TABLE_WORDS]};
		RL_ASSERT(judge_in_flight(&limit.limiter, &v, PROCESSES) == RL_UNDAMAGED);
	}
};

int
main(int argc, char **argv)
{
	prepare();
	before_access = live_on;
	return simulate<in_flight>(argc, argv);
}
