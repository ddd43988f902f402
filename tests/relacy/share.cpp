/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A share of a cluster's capacity, on weak memory: two workers charge one key of a window by decide.c and all below
 * it, around the end of a sub-bucket, while one lends to them by cluster/share.c. He lowers the share and asks for
 * less, sets it to an answer, and ends it before shares_until goes on. Clocks differ, and may go back; a worker and the
 * lender are each killed before some access or other. Beside them stands what the store has lent, and until when.
 *
 * Each CAS16 that charges is judged by that: by a clock that is before the end of the lease, what counts then is at
 * most what is lent and the blind part; by a later one, the blind part. In the end the word holds what was charged.
 *
 * Broken:
 *	advance-first  shares_until goes on, and then the share is ended
 *	send-first     the store is asked for less, and then the share is lowered
 *	late-answer    an answer is set whose lease ends before shares_until
 *	no-cas         the share is stored whatever the word is by now
 *	share-unseen   a charge succeeds though the share has changed since it was decided
 *
 * Who charges replaces the word that he has judged, share and all. So nothing rests on the order in which he sees
 * shares_until and the word: with the later time and the share of before his CAS16 fails. Each of these held in
 * 1,000,000 runs:
 *	relaxed-until  shares_until is loaded and stored without an order
 *	relaxed-load, -load16, -cas
 * relaxed-cas16 fails by the ring, as in window.cpp, and seldom.
 */
#define WORDS 128 /* a group of wishes is 32 words, and the summary one */
#include "backend.hpp"

#define WORKERS 2
#define LENDER WORKERS
#define REQUESTS 3
#define ACTIONS 4
#define PARTS 2 /* granularity */
#define CAPACITY 8
#define BLIND 1
#define GIVEN_FIRST 4
#define COST_MAX 2
#define WIDTH_NS UINT64_C(1000)
#define FIRST UINT64_C(100) /* sub-bucket; in each of those before it one was admitted */
#define LAST (FIRST + PARTS + 1)
#define LIFE_MAX 150 /* accesses of one that is killed; that many are enough */
#define GEN 1
#define KEY 7

/* Where shares_until is, and the wishes behind it, their summary, and what has nothing to lend. */
#define UNTIL (&words[64])
#define SUMMARY (UNTIL + 1 + RL_WISH_SLOTS / 2)
#define DRY (SUMMARY + 1)

static uint64_t
load_word(const uint64_t *word)
{
	return is_broken("relaxed-until") && word == UNTIL ? rl_atomic_load_relaxed(word)
	                                                   : rl_atomic_load(word);
}

static bool
swap_word(uint64_t *word, uint64_t seen, uint64_t next)
{
	if (!is_broken("relaxed-until") || word != UNTIL)
		return rl_atomic_cas(word, seen, next);
	access();
	return memory->of(word).compare_exchange_strong(seen, next, rl::mo_relaxed, $);
}

static bool judged(rl_u128 *state, rl_u128 seen, rl_u128 next);

#define rl_atomic_load load_word
#define rl_atomic_cas swap_word
#define rl_atomic_cas16 judged

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

#include "../../libshm/algorithm/algorithms.c"
#include "../../libshm/algorithm/anchored_ops.c"
#include "../../libshm/algorithm/counter_ops.c"
#include "../../libshm/algorithm/ops.c"
#include "../../libshm/algorithm/ring.c"
#include "../../libshm/algorithm/share_ops.c"
#include "../../libshm/algorithm/window_ops.c"

#include "../../libshm/segment/chance.c"
#include "../../libshm/segment/view.c"
#include "../../libshm/segment/wish.c"

#include "../../libshm/decide/decide.c"
#include "../../libshm/decide/plan.c"
#include "../../libshm/decide/share_wish.c"

#include "move/move.h"
#include "overflow/overflow.h"
#include "rl_cluster.h"
#include "segment/event.h"

rl_opened handle;
rl_handle of_handle;
rl_compiled limit;
rl_quota quota;

#define rl_handle_limit(...) (&::limit)
#define rl_rules_handle(...) 0
#define rl_rules_have_tiers(...) false
namespace sharing
{
#include "../../libshm/cluster/share.c"
#include "../../libshm/cluster/share_place.c"
}
#undef rl_handle_limit
#undef rl_rules_handle
#undef rl_rules_have_tiers

rl_eviction
rl_evict_for(rl_opened *, const rl_compiled *, const rl_candidates *, rl_budget *, uint64_t)
{
	return {};
}

#include "no_overflow.h"
#include "one_table.h"

rl_opened *
rl_follow(rl_opened *)
{
	return &handle;
}

rl_opened *
rl_before(rl_opened *)
{
	return nullptr;
}

bool
rl_move_is_on_its_way(rl_opened *, rl_opened *, uint64_t)
{
	return false;
}

int
rl_handle_no_limit(const rl_opened *, int)
{
	return -EINVAL;
}

/* No event is told, no name is known, and without a lease there is the blind part. */
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
rl_event_report(const rl_segment *, const rl_event_note *)
{
}

extern "C" uint64_t
rl_now(const rl_opened *)
{
	return 0;
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
rl_named_read(const rl_segment *, rl_slot, uint64_t[2])
{
	return false;
}

bool
rl_named_has_secret(const rl_segment *)
{
	return false;
}

void
rl_named_secret(const rl_segment *, const unsigned char[32])
{
}

bool
rl_record_read(const rl_segment *, rl_slot, rl_record_copy *)
{
	return false;
}

bool
rl_policy_of_record(rl_opened *, const rl_record_copy *, const rl_compiled *, rl_budget *,
                    rl_key_policy *, rl_quota *)
{
	return false;
}

bool
rl_policy_of_limit(const rl_segment *, int, rl_quota *q, unsigned *index)
{
	*q = quota;
	*index = 0;
	return true;
}

bool
rl_policy_has_overrides(const rl_segment *, int)
{
	return false;
}

uint32_t
rl_policy_apply_tier(const rl_segment *, uint64_t, const rl_compiled *, unsigned, rl_quota *)
{
	return 0;
}

bool
rl_overflow_place_of_slot(const rl_segment *, const rl_compiled *, rl_slot, uint32_t *)
{
	return false;
}

rl_carry
rl_overflow_carry(const rl_segment *, const rl_compiled *, uint32_t, rl_slot, const rl_view *,
                 uint64_t)
{
	return RL_CARRY_NOTHING;
}

uint32_t
rl_policy_worth_away(const rl_segment *, uint32_t, unsigned)
{
	return 0;
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

#undef rl_atomic_cas16
#undef rl
#undef static

/* By the changes of the word: what the store has lent, until when a share of it may be used, and to be used from now. */
static uint32_t given;
static uint64_t lease_ns, next_lease_ns;
static uint64_t clock_ns[WORKERS]; /* of a request */

/* What was charged, by sub-bucket since FIRST - PARTS. */
static unsigned admitted[PARTS + LAST - FIRST + 1];

static unsigned
nth(uint64_t epoch)
{
	return (unsigned)(epoch + PARTS - FIRST);
}

static unsigned
current(void)
{
	return rl::ctx().current_thread();
}

static rl_state
state_of(rl_u128 word)
{
	return rl_state_unpack(rl_share_window_alone(word), &limit.limiter.window);
}

/* Of one that charges, how much; a close may charge, too. */
static unsigned
charged(rl_state before, rl_state after)
{
	if (after.epoch != before.epoch)
		return after.cur;
	return after.cur > before.cur ? after.cur - before.cur : 0;
}

static void
judge(rl_u128 seen, rl_u128 next)
{
	rl_state before = state_of(seen), after = state_of(next);
	unsigned cost = charged(before, after);

	if (current() == LENDER) {
		lease_ns = next_lease_ns;
	} else if (cost > 0) {
		RL_ASSERT(after.cur + after.sum <=
		          BLIND + (clock_ns[current()] < lease_ns ? given : 0));
		admitted[nth(after.epoch)] += cost;
	}
}

/* What the word is, if it is `seen` but for the share. */
static bool
has_other_share(const rl_u128 *state, rl_u128 seen, rl_u128 *now)
{
	rl_atomic_load16(state, now);
	return now->lo == seen.lo && ((now->hi ^ seen.hi) & ~RL_STATE_SHARE_MASK) == 0;
}

static bool
judged(rl_u128 *state, rl_u128 seen, rl_u128 next)
{
	rl_u128 now;

	if (current() == LENDER && is_broken("no-cas")) {
		do
			rl_atomic_load16(state, &seen);
		while (!rl_atomic_cas16(state, seen, next));
	} else if (!rl_atomic_cas16(state, seen, next)) {
		if (current() == LENDER || !is_broken("share-unseen") ||
		    !has_other_share(state, seen, &now))
			return false;
		next = rl_share_put(next, rl_share_code(rl_share_of(now)));
		seen = now;
		if (!rl_atomic_cas16(state, seen, next))
			return false;
	}
	judge(seen, next);
	return true;
}

struct killed {
};
static unsigned lives[WORKERS + 1];

static void
live_on(void)
{
	unsigned i = current();

	if (i != 1 && lives[i]-- == 0)
		throw killed();
}

static void
prepare(void)
{
	rl_segment *s = &handle.segment;

	handle.here = of_handle.first = &handle;
	handle.handle = &of_handle;
	s->is_writable = true;
	s->geometry.buckets = 2;
	s->geometry.ring = PARTS;
	s->geometry.clustered = 1;
	s->header = (rl_header *)((char *)UNTIL - offsetof(rl_header, shares_until));
	s->wishes = UNTIL + 1;
	s->table = {(rl_bucket *)words, 2};
	s->rings = &words[TABLE_WORDS];
	rl_limiter_set(&limit.limiter, RL_SLIDING_WINDOW);
	rl_limiter_share(&limit.limiter);
	limit.limiter.window_ns = PARTS * WIDTH_NS;
	limit.limiter.granularity = limit.limiter.ring_entries = PARTS;
	limit.limiter.window = rl_window_make(RL_SLIDING_WINDOW, PARTS * WIDTH_NS, PARTS, true);
	quota.capacity = CAPACITY;
	quota.share.blind = BLIND;
}

static uint64_t
some_time(void)
{
	return FIRST * WIDTH_NS + rl::rand(2 * (LAST - FIRST + 1)) * (WIDTH_NS / 2);
}

static void
ask(uint64_t now_ns, unsigned cost)
{
	rl_budget budget = {RL_DECIDE_STEPS};
	rl_part part = {};
	rl_result r = {};
	rl_charge charge = {};

	clock_ns[current()] = now_ns;
	part.rl_opened = &handle;
	part.segment = &handle.segment;
	part.budget = &budget;
	part.limit = &limit;
	part.key = "k";
	part.key_len = 1;
	part.result = &r;
	part.charge = &charge;
	part.quota = quota;
	part.now_ns = now_ns;
	part.candidates = {{0, RL_BUCKET_SLOTS}, KEY};
	rl_policy_share(&handle.segment, &limit, now_ns, &part.quota);
	rl_part_decide(&part, cost, RL_CHECK);
	RL_ASSERT(r.verdict == (charge.cost > 0 ? RL_ALLOWED : RL_DENIED));
}

/* ---- who lends ---- */

static const rl_incarnation of_key = {.slot = 0, .tag = rl_tag_make(RL_TAG_LIVE, GEN, KEY)};
static uint64_t until_ns; /* shares_until, as he has set it */

static void
lower_and_ask(void)
{
	uint32_t want = rl::rand(CAPACITY);
	rl_share s = {};

	next_lease_ns = lease_ns;
	if (is_broken("send-first")) {
		sharing::rl_share_read(&handle, &of_key, some_time(), &s);
		given = want > s.load ? want : s.load;
	}
	if (sharing::rl_share_lower(&handle, &of_key, want, some_time(), &s) == 0) {
		want = want > s.load ? want : s.load;
		want = want > s.share ? want : s.share;
		given = want < given ? want : given;
	}
}

static void
set_to_answer(void)
{
	uint32_t granted = rl::rand(CAPACITY + 1);
	rl_share s;

	given = granted > given ? granted : given;
	next_lease_ns = until_ns + rl::rand(4) * (WIDTH_NS / 2);
	if (is_broken("late-answer"))
		next_lease_ns -= 2 * WIDTH_NS;
	if (sharing::rl_share_set(&handle, &of_key, given, some_time(), &s) == 0)
		lease_ns = next_lease_ns;
}

static void
end_and_advance(void)
{
	rl_share s;

	until_ns += (1 + rl::rand(3)) * (WIDTH_NS / 2);
	next_lease_ns = lease_ns;
	if (is_broken("advance-first"))
		sharing::rl_share_advance(&handle, until_ns);
	if (lease_ns < until_ns)
		while (sharing::rl_share_end(&handle, &of_key, some_time(), &s) != 0)
			;
	sharing::rl_share_advance(&handle, until_ns);
}

static void
give(void)
{
	switch (rl::rand(3)) {
	case 0:
		lower_and_ask();
		break;
	case 1:
		set_to_answer();
		break;
	default:
		end_and_advance();
	}
}

struct share : rl::test_suite<share, WORKERS + 1> {
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
		memset(admitted, 0, sizeof admitted);
		given = GIVEN_FIRST;
		until_ns = lease_ns = next_lease_ns = (FIRST + 1) * WIDTH_NS;
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			mine.of(rl_table_tag(table, i)).store(0, rl::mo_relaxed, $);
			mine.of(rl_table_state(table, i)).store(rl_u128(), rl::mo_relaxed, $);
		}
		for (uint64_t x = FIRST - PARTS; x < FIRST; x++) {
			admitted[nth(x)] = 1;
			ring_entry(x).store(rl_ring_entry(x, 1, GEN), rl::mo_relaxed, $);
		}
		mine.of(UNTIL).store(until_ns, rl::mo_relaxed, $);
		mine.of(UNTIL + 1).store(0, rl::mo_relaxed, $);
		mine.of(SUMMARY).store(0, rl::mo_relaxed, $);
		mine.of(DRY).store(0, rl::mo_relaxed, $);
		mine.of(rl_table_tag(table, 0)).store(of_key.tag, rl::mo_relaxed, $);
		mine.of(rl_table_state(table, 0))
			.store(rl_share_window(rl_state_pack(state, GEN),
		                               rl_share_bits(rl_share_code(GIVEN_FIRST))),
		               rl::mo_relaxed, $);
	}

	void
	thread(unsigned i)
	{
		lives[i] = rl::rand(LIFE_MAX);
		try {
			for (int n = 0; i < LENDER && n < REQUESTS; n++)
				ask(some_time(), 1 + rl::rand(COST_MAX));
			for (int n = 0; i == LENDER && n < ACTIONS; n++)
				give();
		} catch (killed) {
		}
	}

	void
	after()
	{
		rl_state s = state_of(mine.of(rl_table_state(table, 0)).load(rl::mo_relaxed, $));
		unsigned sum = 0;

		for (uint64_t x = FIRST - PARTS; x <= LAST; x++) {
			unsigned count = admitted[nth(x)];
			if (x > s.epoch)
				RL_ASSERT(count == 0);
			else if (x == s.epoch)
				RL_ASSERT(count == s.cur);
			else if (x + PARTS >= s.epoch + s.jump)
				sum += count;
		}
		RL_ASSERT(sum == s.sum);
	}
};

int
main(int argc, char **argv)
{
	prepare();
	before_access = live_on;
	return simulate<share>(argc, argv);
}
