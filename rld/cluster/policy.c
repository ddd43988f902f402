/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy.h"

#include <rl_admin.h>

#define SMALL 64 /* a pool below capacity / SMALL is empty; a difference below it is none */

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
measure(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
        uint64_t now_ns)
{
	double passed = (double)at_least(over(now_ns, k->looked_ns), limit->look_ns);
	double rate = (double)over(seen->load, k->load) / passed;

	k->rate = rate > k->rate ? rate : k->rate * 0.8 + rate * 0.2;
	if (seen->is_wished || seen->load > k->load)
		k->used_ns = now_ns;
	k->load = seen->load;
	k->looked_ns = now_ns;
}

struct situation {
	uint64_t capacity, small, fair, used, headroom;
	bool is_short; /* requests are denied for want of a share */
	bool is_empty; /* the store has next to nothing to lend */
	bool others;   /* starve */
	bool is_content, is_idle;
};

static bool
is_idle(const struct policy_limit *limit, const struct policy_key *k, bool others, uint64_t now_ns)
{
	uint64_t pause = others ? 10 * limit->look_ns : limit->window_ns / 2;

	return now_ns - k->used_ns > at_least(pause, limit->look_ns);
}

/* The need of the next three looks; no rate tells it of a key that is denied. */
static uint64_t
headroom(const struct policy_limit *limit, const struct policy_key *k, uint64_t least)
{
	uint64_t next = at_least((uint64_t)(k->rate * (double)limit->look_ns * 3), least) + 1;

	return k->is_known ? at_least(next, k->pool / (k->hosts + 1)) : next;
}

static struct situation
judge(const struct policy_limit *limit, const struct policy_key *k, const struct policy_seen *seen,
      uint64_t now_ns)
{
	struct situation s = {.capacity = k->is_known ? k->capacity : limit->capacity,
	                      .used = seen->load};

	s.small = s.capacity / SMALL;
	s.fair = k->hosts > 0 ? s.capacity / k->hosts : s.capacity;
	s.is_short = seen->is_wished && seen->load + 1 > seen->share + limit->blind;
	s.others = now_ns < k->starves_until_ns;
	s.is_empty = k->is_known && k->share > 0 && k->pool <= s.small;
	s.is_content = s.is_short && s.is_empty && k->share + s.small >= s.fair;
	s.is_idle = is_idle(limit, k, s.others, now_ns);
	s.headroom = headroom(limit, k, s.is_short ? s.fair / 2 : 0);
	return s;
}

/* Short, and with a fair part: nothing more is to be had. */
static uint64_t
want_content(const struct policy_key *k, const struct situation *s)
{
	uint64_t want = s->others ? at_least(s->used, s->fair) : k->share;

	want = at_most(want, k->share);
	return k->share - want <= s->small ? k->share : want;
}

static uint64_t
want_in_use(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s)
{
	if (s->is_content)
		return want_content(k, s);
	if (s->others && s->is_short)
		return at_least(s->used, s->fair);
	if (s->others)
		return s->used + (uint64_t)(k->rate * (double)limit->look_ns * 1.2) + 1;
	return s->used + s->headroom;
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
	if (w <= k->share || s->used + (s->headroom + 1) / 4 <= k->share)
		return false;
	return since >= (s->is_empty || s->others ? pause_of(limit, 3, s->is_empty) : 0);
}

/* Others may have given back: ask now and again for more while requests are denied. */
static bool
polls(const struct policy_limit *limit, const struct situation *s, uint64_t since)
{
	if (!s->is_short)
		return false;
	if (s->is_content)
		return since >= at_least(limit->window_ns / 20, RL_SECOND);
	return since >= (s->is_empty || s->others ? pause_of(limit, 3, s->is_empty) : 0);
}

static bool
gives_back(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
           uint64_t w, uint64_t since)
{
	if (s->others && w + s->small < k->share)
		return since >= pause_of(limit, 2, true);
	return w + k->share / 8 + 1 < k->share && since >= RL_SECOND;
}

static bool
renews(const struct policy_limit *limit, const struct policy_key *k, uint64_t since)
{
	uint64_t third = limit->lease_ns / 3;

	return since >= third - k->renew_ns % (third / 4 + 1);
}

static bool
is_to_ask(const struct policy_limit *limit, const struct policy_key *k, const struct situation *s,
          uint64_t w, uint64_t now_ns)
{
	uint64_t since = k->asked_ns ? now_ns - k->asked_ns : UINT64_MAX / 2;

	if (k->is_open)
		return since >= 2 * limit->look_ns;
	return runs_low(limit, k, s, w, since) || polls(limit, s, since) ||
	       gives_back(limit, k, s, w, since) || (k->share > 0 && renews(limit, k, since));
}

/*
 * A key that stands still is looked at less and less often, as long as nothing can change without a
 * wish.
 */
static uint64_t
next_look(const struct policy_limit *limit, const struct policy_key *k, uint64_t now_ns)
{
	uint64_t quiet = (now_ns - k->used_ns) / 4;
	uint64_t longest = at_most(limit->lease_ns / 24, RL_SECOND);

	return now_ns + at_least(limit->look_ns, at_most(quiet, longest));
}

struct policy_wish
policy_look(const struct policy_limit *limit, struct policy_key *k, const struct policy_seen *seen,
            uint64_t now_ns)
{
	struct policy_wish wish = {0};
	struct situation s;

	measure(limit, k, seen, now_ns);
	s = judge(limit, k, seen, now_ns);
	wish.want = want(limit, k, &s);
	wish.need = s.used + 1;
	wish.is_short = s.is_short;
	wish.is_over = s.is_idle && !k->is_open && k->share == 0 && seen->share == 0;
	wish.is_ask = !wish.is_over && is_to_ask(limit, k, &s, wish.want, now_ns);
	wish.next_ns = next_look(limit, k, now_ns);
	return wish;
}

void
policy_asked(struct policy_key *k, uint64_t now_ns, uint64_t random)
{
	k->asked_ns = now_ns;
	k->renew_ns = random;
	k->is_open = true;
}

void
policy_answered(struct policy_key *k, const struct policy_answer *a, uint64_t now_ns,
                const struct policy_limit *limit)
{
	k->is_open = false;
	k->is_known = true;
	k->share = a->share;
	k->capacity = a->capacity;
	k->pool = over(a->capacity, a->sum);
	k->hosts = at_least(a->hosts, 1);
	k->starves_until_ns = a->other_starves ? now_ns + policy_starve_ns(limit) : 0;
}
