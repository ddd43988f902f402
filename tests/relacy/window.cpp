/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A window and its ring move on, on weak memory: three processes charge one key around the end
 * of a sub-bucket, each twice, by decide.c and all below it (find, load, decide, freeze, store,
 * close, charge). Their clocks differ by up to a window and may go back, and one is killed
 * before some access or other. The others come to an answer; what was acknowledged is what state
 * and ring hold, sub-bucket by sub-bucket; no window of the real length holds more than capacity;
 * and what a denial believed of the ring was so.
 *
 * Broken:
 *	no-freeze      closed from an open state
 *	unstored       closed without the ring
 *	unseen         an entry is stored though the state may have moved on
 *	one-look       a denial believes the ring without a second look at the state
 *	relaxed-load, -load16, -cas, -cas16: those order nothing
 * There is no fence to leave out: each access is of a word that tells by its value what is to be
 * seen of the other.
 */
#include "backend.hpp"

#define PROCESSES 3
#define REQUESTS 2
#define PARTS 2 /* granularity */
#define CAPACITY 4
#define COST_MAX 2
#define WIDTH_NS UINT64_C(1000)
#define FIRST UINT64_C(100) /* sub-bucket; in each of those before it one was admitted */
#define LAST (FIRST + PARTS + 1)
#define LIFE_MAX 100 /* accesses of the one that is killed; that many are enough */
#define GEN 1
#define KEY 7

/* A field of a seat has a name that is none in C++. */
#define namespace namespace_of_pids
#include "holder/alive.h"
#undef namespace

/* What C++ does not take: [static N], a struct of the name of Relacy's namespace. */
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

#include "../../libshm/algorithm/gcra.c"
#include "../../libshm/algorithm/gcra_ops.c"
#include "../../libshm/algorithm/in_flight.c"
#include "../../libshm/algorithm/log.c"
#include "../../libshm/algorithm/log_ops.c"
#include "../../libshm/algorithm/share_bucket.c"
#include "../../libshm/algorithm/window.c"
#include "../../libshm/algorithm/window_refund.c"
#include "../../libshm/table/table.c"

#define rl_u128_equal(a, b) (is_broken("unseen") || rl_u128_equal(a, b))
#include "../../libshm/algorithm/ring.c"
#undef rl_u128_equal

void decide(const struct rl_window_at *at, uint32_t capacity, uint32_t cost, rl_window_used *used,
            rl_move *move);
#define rl_window_decide decide
#include "../../libshm/algorithm/algorithms.c"
#include "../../libshm/algorithm/anchored_ops.c"
#include "../../libshm/algorithm/counter_ops.c"
#include "../../libshm/algorithm/ops.c"
#include "../../libshm/algorithm/share_ops.c"
#include "../../libshm/algorithm/window_ops.c"
#undef rl_window_decide

bool store(uint64_t *entry, uint64_t value, const rl_u128 *state, rl_u128 seen);
#define rl_ring_store store
#include "../../libshm/segment/chance.c"
#include "../../libshm/segment/view.c"

bool believe(const rl_segment *s, const rl_limiter *l, rl_slot slot, const rl_view *v);
#define rl_view_holds believe
#include "../../libshm/decide/decide.c"
#include "../../libshm/decide/plan.c"
#include "../../libshm/decide/share_wish.c"
#undef rl_view_holds
#undef rl_ring_store

rl_eviction
rl_evict_for(rl_opened *, const rl_compiled *, const rl_candidates *, rl_budget *, uint64_t)
{
	return {};
}

#include "no_overflow.h"
#include "one_table.h"

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

uint32_t
rl_holders_label(const rl_holders *)
{
	return 0;
}

int
rl_units_take(rl_opened *, const rl_compiled *, rl_slot, uint32_t, uint32_t, rl_budget *,
              rl_units_taken *)
{
	return 0;
}

size_t
rl_network_text(const unsigned char *, char *)
{
	return 0;
}

#undef rl
#undef static

/*
 * By sub-bucket since FIRST - PARTS: what was acknowledged, or is said to have been. Nothing is
 * charged and not acknowledged: between a charge and its answer there is no access.
 */
struct counts {
	unsigned count[PARTS + LAST - FIRST + 1];
	bool is_known[PARTS + LAST - FIRST + 1];
};

static unsigned
nth(uint64_t epoch)
{
	return (unsigned)(epoch + PARTS - FIRST);
}

static counts admitted;
static counts last_read[PROCESSES];          /* of the ring, by each process */
static bool has_read[PROCESSES];             /* since its last denial: one by the word alone reads none */
static counts believed[PROCESSES][REQUESTS]; /* what its denials went by */
static unsigned denials[PROCESSES];

static void
note(const struct rl_window_at *at)
{
	counts *c = &last_read[rl::ctx().current_thread()];
	const rl_state *s = at->state;
	uint64_t newest;
	rl_history h;

	has_read[rl::ctx().current_thread()] = true;
	rl_window_history(at, &h);
	newest = h.start_ns / h.width_ns;
	*c = {};
	for (uint64_t x = s->epoch - s->span; x < s->epoch; x++)
		if (newest - x <= at->window->count) {
			c->count[nth(x)] = h.bucket[newest - x];
			c->is_known[nth(x)] = s->sum > 0;
		}
}

/* Broken, it goes on from an open state as if that were frozen. */
void
decide(const struct rl_window_at *at, uint32_t capacity, uint32_t cost, rl_window_used *used,
       rl_move *move)
{
	rl_window_decide(at, capacity, cost, used, move);
	if (move->step == RL_STEP_ROLL && is_broken("no-freeze"))
		move->step = RL_STEP_CLOSE;
	if (move->step == RL_STEP_DENY)
		note(at);
}

bool
believe(const rl_segment *s, const rl_limiter *l, rl_slot slot, const rl_view *v)
{
	unsigned i = rl::ctx().current_thread();
	bool by_ring = has_read[i];

	has_read[i] = false;
	if (!rl_view_holds(s, l, slot, v) && !is_broken("one-look"))
		return false;
	if (by_ring)
		believed[i][denials[i]++] = last_read[i];
	return true;
}

bool
store(uint64_t *entry, uint64_t value, const rl_u128 *state, rl_u128 seen)
{
	return is_broken("unstored") || rl_ring_store(entry, value, state, seen);
}

struct killed {
};
static unsigned life; /* of the first process */

static void
live_on(void)
{
	if (rl::ctx().current_thread() == 0 && life-- == 0)
		throw killed();
}

static rl_opened handle;
static rl_compiled limit;

static void
prepare(void)
{
	rl_segment *s = &handle.segment;

	s->is_writable = true;
	s->geometry.buckets = 2;
	s->geometry.ring = PARTS;
	s->table = {(rl_bucket *)words, 2};
	s->rings = &words[TABLE_WORDS];
	rl_limiter_set(&limit.limiter, RL_SLIDING_WINDOW);
	limit.limiter.window_ns = PARTS * WIDTH_NS;
	limit.limiter.granularity = limit.limiter.ring_entries = PARTS;
	limit.limiter.window = rl_window_make(RL_SLIDING_WINDOW, PARTS * WIDTH_NS, PARTS, true);
}

static void
ask(uint64_t epoch, unsigned cost)
{
	rl_budget budget = {RL_DECIDE_STEPS};
	rl_part part = {};
	rl_result r = {};
	rl_charge charge = {};

	part.rl_opened = &handle;
	part.segment = &handle.segment;
	part.budget = &budget;
	part.limit = &limit;
	part.key = "k";
	part.key_len = 1;
	part.result = &r;
	part.charge = &charge;
	part.quota.capacity = CAPACITY;
	part.now_ns = epoch * WIDTH_NS;
	part.candidates = {{0, RL_BUCKET_SLOTS}, KEY};
	rl_part_decide(&part, cost, RL_CHECK);
	RL_ASSERT(r.verdict == (charge.cost > 0 ? RL_ALLOWED : RL_DENIED));
	if (charge.cost > 0)
		admitted.count[nth(charge.epoch)] += cost;
}

struct window : rl::test_suite<window, PROCESSES> {
	cells mine;
	const rl_table *table = &handle.segment.table;

	rl::atomic<uint64_t> &
	ring_entry(uint64_t epoch)
	{
		return mine.of(&words[TABLE_WORDS + epoch % PARTS]);
	}

	void
	before()
	{
		rl_state state = {.epoch = FIRST, .cur = 0, .sum = PARTS, .span = PARTS};

		memory = &mine;
		memset(&admitted, 0, sizeof admitted);
		memset(denials, 0, sizeof denials);
		memset(has_read, 0, sizeof has_read);
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			mine.of(rl_table_tag(table, i)).store(0, rl::mo_relaxed, $);
			mine.of(rl_table_state(table, i)).store(rl_u128(), rl::mo_relaxed, $);
		}
		for (uint64_t x = FIRST - PARTS; x < FIRST; x++) {
			admitted.count[nth(x)] = 1;
			ring_entry(x).store(rl_ring_entry(x, 1, GEN), rl::mo_relaxed, $);
		}
		mine.of(rl_table_tag(table, 0))
			.store(rl_tag_make(RL_TAG_LIVE, GEN, KEY), rl::mo_relaxed, $);
		mine.of(rl_table_state(table, 0))
			.store(rl_state_pack(state, GEN), rl::mo_relaxed, $);
	}

	void
	thread(unsigned i)
	{
		if (i == 0)
			life = rl::rand(LIFE_MAX);
		try {
			for (int n = 0; n < REQUESTS; n++)
				ask(FIRST + rl::rand(LAST - FIRST + 1), 1 + rl::rand(COST_MAX));
		} catch (killed) {
		}
	}

	/* As libshm/admin/audit.c judges one slot, with what is known to be right beside it. */
	void
	audit()
	{
		rl_state s =
			rl_state_unpack(mine.of(rl_table_state(table, 0)).load(rl::mo_relaxed, $),
		                        &limit.limiter.window);
		unsigned sum = 0;

		for (uint64_t x = FIRST - PARTS; x <= LAST; x++) {
			unsigned count = admitted.count[nth(x)];
			if (x > s.epoch)
				RL_ASSERT(count == 0);
			else if (x == s.epoch)
				RL_ASSERT(count == s.cur);
			else if (x + PARTS >= s.epoch && x + s.span < s.epoch)
				RL_ASSERT(count == 0);
			else if (x + PARTS >= s.epoch + s.jump)
				sum += count;
			if (x < s.epoch && x + s.span >= s.epoch && x + PARTS >= s.epoch + s.jump)
				RL_ASSERT(ring_entry(x).load(rl::mo_relaxed, $) ==
				          rl_ring_entry(x, count, GEN));
		}
		RL_ASSERT(sum == s.sum);
	}

	void
	after()
	{
		audit();
		for (uint64_t x = FIRST - PARTS; x + PARTS <= LAST; x++) {
			unsigned sum = 0;
			for (unsigned i = 0; i <= PARTS; i++)
				sum += admitted.count[nth(x + i)];
			RL_ASSERT(sum <= CAPACITY);
		}
		for (unsigned i = 0; i < PROCESSES; i++)
			for (unsigned d = 0; d < denials[i]; d++)
				for (unsigned x = 0; x <= nth(LAST); x++)
					if (believed[i][d].is_known[x])
						RL_ASSERT(believed[i][d].count[x] ==
						          admitted.count[x]);
	}
};

int
main(int argc, char **argv)
{
	prepare();
	before_access = live_on;
	return simulate<window>(argc, argv);
}
