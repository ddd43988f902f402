/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy.h"

#include <rl_admin.h>

#define SMALL 64 /* a pool below capacity / SMALL is empty; a difference below it is none */
/* A question and its answer with all that delays them: the first pause of who gets nothing. */
#define ROUND_NS (20 * RL_MILLISECOND)
/* Longer than who waits lets pass between two tries: a denial that nobody repeats is forgotten. */
#define UNMET_NS (100 * RL_MILLISECOND)
/* Longer than the second after which who was denied comes again: what came too late is kept. */
#define KEPT_LOOKS 25
#define DRY_MISSES 4

static uint64_t
at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t
policy_starve_ns(const struct policy_limit *limit)
{
	return at_least(RL_SECOND, limit->window_ns / 10);
}

void
policy_begin(struct policy_key *k, const struct policy_seen *seen, uint64_t now_ns)
{
	*k = (struct policy_key){
		.load = seen->load, .share = seen->share, .looked_ns = now_ns, .used_ns = now_ns};
}

/*
 * Quick to rise, slow to fall. What was denied is not seen, and is told by the wish. A wish has the
 * key looked at soon after the last time: one unit in a hundredth of a second is no rate of a
 * hundred.
 */
static void
measure_use(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
            uint64_t now_ns)
{
	double passed = (double)at_least(over(now_ns, k->looked_ns), limit->look_ns);
	double rate = (double)over(seen->load, k->load) / passed;

	k->rate = rate > k->rate ? rate : k->rate * 0.8 + rate * 0.2;
	if (!seen->is_wished && seen->denied == 0 && seen->load <= k->load)
		return;
	k->gap_ns = (3 * k->gap_ns + over(now_ns, k->used_ns)) / 4;
	k->used_ns = now_ns;
}

/*
 * A denial takes the place of those before: who waits is denied again until it is admitted, and who
 * was admitted since the last look may be who was denied since then, and lacks nothing more. What
 * was lent for one who comes again is kept until that is used.
 */
static void
measure_unmet(const struct policy_limit *limit, struct policy_key *k,
              const struct policy_seen *seen, uint64_t now_ns)
{
	uint64_t since_ns = over(now_ns, k->unmet_ns);
	uint64_t through = seen->is_waiting ? over(seen->load, k->load) : 0;

	if (seen->denied > through) {
		k->unmet = k->kept = seen->largest;
		k->sum = seen->denied - through;
		k->is_waiting = seen->is_waiting;
		k->unmet_ns = now_ns;
	} else if (seen->denied > 0 || since_ns > UNMET_NS) {
		k->unmet = k->sum = 0;
	}
	if (seen->denied == 0 &&
	    (seen->load >= k->load + k->kept || since_ns > KEPT_LOOKS * limit->look_ns))
		k->kept = 0;
	if (seen->load + k->unmet <= seen->share + limit->blind)
		k->unmet = 0;
}

static void
measure(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
        uint64_t now_ns)
{
	measure_use(limit, k, seen, now_ns);
	measure_unmet(limit, k, seen, now_ns);
	k->load = seen->load;
	k->looked_ns = now_ns;
}

/* Both are hints: one that is lost costs time. */
static void
hear(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
     uint64_t now_ns)
{
	if (seen->is_called) { /* what is kept here is waited for elsewhere */
		k->is_waiting = true;
		k->starves_until_ns =
			at_least(k->starves_until_ns, now_ns + policy_starve_ns(limit) / 2);
	}
	if (seen->is_room) {
		k->room_ns = now_ns;
		k->pause_ns = 0;
		k->pool = at_least(k->pool, 1);
	}
}

struct situation {
	uint64_t capacity, fair, used, headroom, need;
	uint64_t little; /* what is not worth a question to give back */
	bool is_short;   /* requests are denied for want of a share */
	bool is_empty;   /* the store has next to nothing to lend */
	bool others;     /* starve */
	bool is_idle;
	bool rests; /* nobody has asked since a question would have been answered */
};

/*
 * Nobody has asked for longer than three times as usual; where nobody waits, for so long that he
 * who was denied would have come again.
 */
static bool
is_idle(const struct policy_limit *limit, const struct policy_key *k, bool others, uint64_t now_ns)
{
	uint64_t longest = at_least(limit->window_ns / 2, limit->look_ns);
	uint64_t looks = 3 * limit->look_ns, pause;

	if (k->is_waiting)
		pause = others ? looks : at_least(3 * k->gap_ns, looks);
	else
		pause = others ? KEPT_LOOKS * limit->look_ns : longest;
	return over(now_ns, k->used_ns) > at_most(pause, longest);
}

/*
 * Beyond what is in use: the need of the next three looks, or a part of the pool. No rate tells it
 * of a key that is denied: `least`. Where callers wait nobody takes half of the pool for the first
 * request, and what is lacking is asked for in time.
 */
static uint64_t
headroom(const struct policy_limit *limit, const struct policy_key *k, uint64_t used,
         uint64_t least)
{
	uint64_t next = at_least((uint64_t)(k->rate * (double)limit->look_ns * 3), least);
	uint64_t room = k->is_known ? at_least(next, k->pool / (k->hosts + 1)) : next;

	return k->is_waiting ? at_most(room, used / 2) : room + 1;
}

/* All hosts together keep no more than a small part while others starve; where these wait, none. */
static uint64_t
little(const struct policy_limit *limit, const struct policy_key *k, uint64_t capacity)
{
	return k->is_waiting ? 0 : capacity / SMALL / at_least(limit->hosts, 1);
}

static struct situation
judge(const struct policy_limit *limit, const struct policy_key *k, const struct policy_seen *seen,
      uint64_t now_ns)
{
	struct situation s = {.capacity = k->is_known ? k->capacity : limit->capacity,
	                      .used = seen->load};

	s.fair = k->hosts > 0 ? s.capacity / k->hosts : s.capacity;
	s.little = little(limit, k, s.capacity);
	s.is_short = k->unmet > 0;
	s.others = now_ns < k->starves_until_ns;
	s.is_empty = k->is_known && k->share > 0 && k->pool <= s.capacity / SMALL;
	s.is_idle = is_idle(limit, k, s.others, now_ns);
	s.rests = over(now_ns, k->used_ns) > ROUND_NS;
	s.headroom = headroom(limit, k, s.used, s.is_short && !k->is_waiting ? s.fair / 2 : 0);
	s.need = at_most(s.used + at_least(k->unmet, 1), s.capacity);
	return s;
}

/* Of two that each need more than a fair part neither would get all of it: by lot, one waits. */
static bool
gives_way(const struct policy_key *k, const struct situation *s)
{
	return s->need > at_least(s->fair, k->share) && k->share > s->used &&
	       (k->renew_ns >> 7 & 1) != 0;
}

static uint64_t
want_of_short(const struct policy_key *k, const struct situation *s)
{
	uint64_t most = k->pool > 0 ? s->capacity : s->fair;

	if (!s->others)
		return s->used + k->sum + s->headroom;
	if (gives_way(k, s))
		return s->used;
	return at_least(s->need, k->is_waiting ? at_most(s->used + k->sum, most) : s->fair);
}

/* Nothing that is not in use is kept from one that starves. */
static uint64_t
want_in_use(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s)
{
	if (s->is_short)
		return want_of_short(k, s);
	if (!s->others)
		return s->used + s->headroom;
	if (k->is_waiting)
		return s->used + (s->rests ? 0 : (uint64_t)(k->rate * (double)ROUND_NS));
	return s->used + at_least((uint64_t)(k->rate * (double)limit->look_ns * 1.2) + 1, k->kept);
}

/* A bucket's share is its rate as well: what has come in a window is to come back in the next. */
static uint64_t
want_of_bucket(const struct policy_limit *limit, const struct policy_key *k,
               const struct situation *s, uint64_t want)
{
	uint64_t rate = (uint64_t)(k->rate * (double)limit->window_ns * 1.25);

	if (s->is_idle)
		return want;
	return at_least(want, s->others ? at_most(rate, s->fair) : rate);
}

static uint64_t
want(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s)
{
	uint64_t w = s->is_idle ? s->used : want_in_use(limit, k, s);

	if (limit->is_bucket)
		w = want_of_bucket(limit, k, s, w);
	return at_least(at_most(w, s->capacity), s->used);
}

static uint64_t
pause_of(const struct policy_limit *limit, uint64_t looks, bool is_empty)
{
	uint64_t pause = looks * limit->look_ns;

	return is_empty ? at_least(pause, limit->window_ns / 40) : pause;
}

static bool
runs_low(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
         uint64_t w, uint64_t since)
{
	if (s->is_short || s->headroom == 0 || w <= k->share ||
	    s->used + (s->headroom + 1) / 4 <= k->share + limit->blind / 4)
		return false;
	return since >= (s->is_empty || s->others ? pause_of(limit, 3, s->is_empty) : 0);
}

/*
 * Others keep what is not in use no longer than it takes to ask and be answered; where callers
 * wait, what idles is given back before anybody starves for it.
 */
static bool
gives_back(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
           uint64_t w, uint64_t since)
{
	if (w >= k->share)
		return false;
	if (s->others && w + s->little < k->share)
		return since >= (k->is_waiting ? ROUND_NS : pause_of(limit, 2, false));
	if (k->is_waiting && limit->hosts > 1 && s->is_idle &&
	    (w == 0 || w + k->share / 8 < k->share))
		return since >= pause_of(limit, 3, false);
	return w + k->share / 8 + 1 < k->share && since >= RL_SECOND;
}

/*
 * What is all used needs no lease: the store keeps it for a window more, in which it leaves the
 * window, and then it is given back. That saves a third of a small limit's questions.
 */
static bool
renews(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
       uint64_t since)
{
	uint64_t third = limit->lease_ns / 3;

	if (k->share == 0 || (k->is_waiting && limit->hosts > 1 && s->is_idle))
		return false;
	return since >= third - k->renew_ns % (third / 4 + 1);
}

static bool
is_to_ask(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
          uint64_t w, uint64_t now_ns)
{
	uint64_t since = k->asked_ns ? now_ns - k->asked_ns : UINT64_MAX / 2;

	if (k->is_open)
		return since >= at_least(2 * limit->look_ns, limit->answer_ns);
	if (s->is_short && since >= k->pause_ns)
		return true;
	return runs_low(limit, k, s, w, since) || gives_back(limit, k, s, w, since) ||
	       renews(limit, k, s, since);
}

/*
 * A key that stands still is looked at less and less often, as long as nothing can change without a
 * wish.
 */
static uint64_t
next_look(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
          uint64_t now_ns)
{
	uint64_t quiet = over(now_ns, k->used_ns) / 4;
	uint64_t longest = at_most(limit->lease_ns / 24, RL_SECOND);

	if (s->is_short && !k->is_open)
		return at_least(k->asked_ns + k->pause_ns, now_ns + RL_MILLISECOND);
	if (s->others && k->is_waiting && k->share > s->used && !k->is_open)
		return at_least(k->asked_ns + ROUND_NS, now_ns + RL_MILLISECOND);
	return now_ns + at_least(limit->look_ns, at_most(quiet, longest));
}

struct policy_wish
policy_look(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
            uint64_t now_ns)
{
	struct policy_wish wish = {0};
	struct situation s;

	hear(limit, k, seen, now_ns);
	measure(limit, k, seen, now_ns);
	if (seen->is_room && k->unmet == 0) /* else the next answer says how much it is */
		k->misses = 0;
	s = judge(limit, k, seen, now_ns);
	wish.want = want(limit, k, &s);
	wish.need = s.need;
	wish.is_short = s.is_short;
	wish.is_call = s.is_short && (k->is_waiting || k->unmet > 1);
	wish.is_over = s.is_idle && !k->is_open && k->share == 0 && seen->share == 0 &&
	               !policy_is_dry(limit, k, now_ns);
	wish.is_ask = !wish.is_over && is_to_ask(limit, k, &s, wish.want, now_ns);
	wish.next_ns = next_look(limit, k, &s, now_ns);
	return wish;
}

void
policy_asked(struct policy_key *k, uint64_t now_ns, uint64_t random)
{
	k->asked_ns = now_ns;
	k->renew_ns = random;
	k->is_open = true;
}

/* Part of it, and the store has more: the rest is asked for at once. */
static bool
brings_more(const struct policy_key *k, const struct policy_answer *a)
{
	return k->is_waiting && a->capacity > a->sum && a->share > k->share;
}

static uint64_t
pause_after(const struct policy_limit *limit, const struct policy_key *k,
            const struct policy_answer *a)
{
	uint64_t longest = at_least(limit->window_ns / 40, ROUND_NS);

	if (k->room_ns > k->asked_ns) /* told before this came, and it may be of before */
		return 0;
	if (k->unmet == 0 || a->share >= k->load + at_least(k->unmet, k->sum) || brings_more(k, a))
		return 0;
	return at_most(at_least(2 * k->pause_ns, ROUND_NS), longest);
}

void
policy_answered(struct policy_key *k, const struct policy_answer *a, uint64_t now_ns,
                const struct policy_limit *limit)
{
	k->is_open = false;
	k->is_known = true;
	k->misses = k->unmet == 0 || a->share >= k->load + k->unmet ? 0 : k->misses + 1;
	k->pause_ns = pause_after(limit, k, a);
	k->share = a->share;
	k->capacity = a->capacity;
	k->pool = over(a->capacity, a->sum);
	k->hosts = at_least(a->hosts, 1);
	k->starves_until_ns = a->other_starves ? now_ns + policy_starve_ns(limit) : 0;
}

bool
policy_is_dry(const struct policy_limit *limit, const struct policy_key *k, uint64_t now_ns)
{
	return k->misses >= DRY_MISSES && over(now_ns, k->asked_ns) < policy_starve_ns(limit);
}
