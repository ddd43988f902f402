/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit that is found.
 *
 *	time a request takes
 *	  |                    /        A server does as many requests at once as it has room for, and each
 *	  |                   /         takes as long as it takes alone. Above that they wait for
 *	  |   goal - - - - - X          each other: more at once is no more done in a second. The limit
 *	  |                / |          is to be right of the knee, so that there is always something to do,
 *	  |   alone ------'  |          and not far from it.
 *	  +----------------------> in flight
 *	                knee limit
 *
 * The goal is GOAL times what a request takes alone: with 2, a request waits as long as it works. Each
 * request that is done moves the limit by its share of the way to the goal:
 *
 *	limit += STEP * (goal - time) / goal        from + STEP, at once, to - STEP, twice the goal or longer
 *
 * `limit` requests are done in about the time that one takes, so each such time changes the limit by STEP, a
 * tenth, of itself, times the part by which it was missed: never by more than a tenth. It rests where
 * requests take the goal on average, however much single ones vary.
 *
 * This is the gradient of Netflix' concurrency-limits (Gradient2Limit: limit * alone * tolerance / time,
 * smoothed) and of Envoy's adaptive concurrency filter, a request at a time in place of a window at a
 * time. As increments it needs no lock and no owner. Workers add to one counter of rl, in any order, and
 * the sum is the same; one that is killed takes along the sample of its last request.
 *
 * What is shared, all of it counters by key:
 *
 *	limit     in millionths of a request
 *	alone     ns that a request takes while few others are in flight: a moving average
 *	known     is there for KNOWN times that, after a request that was alone
 *	looking   is there for LOOK times that, while the limit is a quarter, to see what alone is
 *
 * Why it does not drift. With an average of all requests in place of `alone`, a crowd that stays becomes
 * what is usual, the limit grows with it, and so does the crowd. So a request counts as alone only if no
 * more than a quarter of the limit was in flight. If none was for long, as under an overload, whoever
 * finds `known` gone lowers the limit to a quarter for a moment (Envoy's minRTT; ProbeRTT of BBR): long
 * enough for those in flight to leave, and for others to come and go. If that quarter still is
 * beyond the knee, then `alone` is a quarter of what the full limit takes, the goal is half of it, and the
 * limit falls; so it ends below four knees, where a quarter is alone indeed, and the goal is right.
 *
 * A server that gets slower first gets a lower limit, for its requests miss the goal; when `alone` was
 * looked at again the limit comes back. A limit of which not half is used says nothing, and stays.
 *
 * It costs four reads of a counter for a request that is let in, and up to three increments when it leaves.
 */
#include "adaptive.h"

#include <stdio.h>
#include <string.h>

#define ONE INT64_C(1000000) /* request, as `limit` counts */
#define FIRST 4              /* the limit before anything is known */
#define GOAL 2
#define STEP (ONE / 10)
#define QUARTER 4
#define WEIGHT 4 /* times the limit: so many requests make the average of `alone` */
#define LONGEST \
	4 /* times `alone`: what takes longer counts as this, so that one pause is not many */
#define KNOWN 100 /* times `alone` */
#define LOOK 4    /* times `alone` */

static int
define_counters(struct rl *rl, const char *name, const char *what)
{
	char full[RL_NAME_MAX + 1];
	int len = snprintf(full, sizeof full, "%s.%s", name, what);

	return len > RL_NAME_MAX ? -EINVAL : rl_define_counters(rl, full);
}

static int
least(int a, int b)
{
	return a < b ? a : b;
}

int
adaptive_open(struct adaptive *a, struct rl *rl, const char *name, uint32_t max)
{
	struct rl_rule rule = {.name = name, .limit = {.algorithm = RL_IN_FLIGHT, .capacity = max}};

	*a = (struct adaptive){.rl = rl,
	                       .rule = rl_define(rl, &rule),
	                       .limit = define_counters(rl, name, "limit"),
	                       .alone = define_counters(rl, name, "alone"),
	                       .known = define_counters(rl, name, "known"),
	                       .looking = define_counters(rl, name, "looking"),
	                       .max = max};
	return least(0,
	             least(a->rule, least(least(a->limit, a->alone), least(a->known, a->looking))));
}

/* 0 if there is none. */
static int64_t
value_of(const struct adaptive *a, int space, const char *key, uint64_t now_ns)
{
	struct rl_count count;

	return rl_counter_get_at(a->rl, space, key, strlen(key), now_ns, &count) == 1
	               ? (int64_t)count.value
	               : 0;
}

static void
add(const struct adaptive *a, int space, const char *key, int64_t amount, uint64_t now_ns)
{
	rl_counter_add_at(a->rl, space, key, strlen(key), amount, RL_NEVER_NS, now_ns, NULL);
}

static int64_t
within(int64_t lowest, int64_t value, int64_t highest)
{
	return value < lowest ? lowest : value > highest ? highest : value;
}

uint32_t
adaptive_limit(const struct adaptive *a, const char *key, uint64_t now_ns)
{
	int64_t limit = value_of(a, a->limit, key, now_ns);

	return (uint32_t)within(1, limit > 0 ? limit / ONE : FIRST, a->max);
}

static uint32_t
quarter(uint32_t limit)
{
	return limit < QUARTER ? 1 : limit / QUARTER;
}

/* What this request brings along. Of those that find `known` gone, one makes it and looks. */
static uint32_t
capacity_now(const struct adaptive *a, const char *key, uint64_t now_ns)
{
	uint64_t alone_ns = (uint64_t)value_of(a, a->alone, key, now_ns);
	uint32_t limit = adaptive_limit(a, key, now_ns);
	size_t len = strlen(key);

	if (alone_ns == 0)
		return limit;
	if (rl_counter_set_new_at(a->rl, a->known, key, len, 1, KNOWN * alone_ns, now_ns, NULL) ==
	    1)
		rl_counter_set_at(a->rl, a->looking, key, len, 1, LOOK * alone_ns, now_ns, NULL);
	return value_of(a, a->looking, key, now_ns) > 0 ? quarter(limit) : limit;
}

enum rl_verdict
adaptive_enter(const struct adaptive *a, const char *key, uint64_t now_ns,
               struct adaptive_pass *pass)
{
	struct rl_charges charges;
	struct rl_result r;
	struct rl_item item = {.rule = a->rule,
	                       .key = key,
	                       .key_len = strlen(key),
	                       .cost = 1,
	                       .capacity = capacity_now(a, key, now_ns),
	                       .charges = &charges};
	enum rl_verdict verdict = rl_check_item_at(a->rl, &item, now_ns, &r);

	*pass = (struct adaptive_pass){.start_ns = now_ns, .used = r.used};
	if (verdict == RL_ALLOWED)
		pass->holds = rl_holds(&charges, &pass->hold, 1);
	return verdict;
}

/* The first request of a key says what there is to say. */
static void
begin(const struct adaptive *a, const char *key, int64_t time_ns, uint64_t now_ns)
{
	size_t len = strlen(key);

	rl_counter_set_new_at(a->rl, a->limit, key, len, FIRST * ONE, RL_NEVER_NS, now_ns, NULL);
	rl_counter_set_new_at(a->rl, a->alone, key, len, (uint64_t)time_ns, RL_NEVER_NS, now_ns,
	                      NULL);
}

/*
 * The average is of as many as some looks see, however many these see at once. Of those that begin together
 * the slowest end last: were it of fewer, it would be theirs.
 */
static void
learn_alone(const struct adaptive *a, const char *key, int64_t alone_ns, int64_t time_ns,
            uint32_t limit, uint64_t now_ns)
{
	uint64_t known_ns = KNOWN * (uint64_t)alone_ns;

	add(a, a->alone, key, (time_ns - alone_ns) / (WEIGHT * (limit + 1)), now_ns);
	rl_counter_set_at(a->rl, a->known, key, strlen(key), 1, known_ns, now_ns, NULL);
}

/* What others have added since the limit was read may take it beyond its bounds: the next brings it back. */
static void
move_limit(const struct adaptive *a, const char *key, int64_t goal_ns, int64_t time_ns,
           uint64_t now_ns)
{
	int64_t limit = value_of(a, a->limit, key, now_ns);
	int64_t missed_ns = within(-goal_ns, goal_ns - time_ns, goal_ns);
	int64_t next = within(ONE, limit + STEP * missed_ns / goal_ns, a->max * ONE);

	add(a, a->limit, key, next - limit, now_ns);
}

void
adaptive_leave(const struct adaptive *a, const char *key, uint64_t now_ns,
               struct adaptive_pass *pass)
{
	const int64_t longest = INT64_C(3600) * (int64_t)RL_SECOND;
	int64_t alone_ns = value_of(a, a->alone, key, now_ns);
	int64_t time_ns = within(1, (int64_t)(now_ns - pass->start_ns), longest);
	uint32_t limit = adaptive_limit(a, key, now_ns);

	if (pass->holds == 0) /* exempt, or undecided: it was not counted */
		return;
	while (rl_release(a->rl, &pass->hold, pass->holds) == -EBUSY)
		;
	if (alone_ns == 0) {
		begin(a, key, time_ns, now_ns);
		return;
	}
	time_ns = within(1, time_ns, LONGEST * alone_ns);
	if (pass->used <= quarter(limit))
		learn_alone(a, key, alone_ns, time_ns, limit, now_ns);
	if (2 * pass->used > limit)
		move_limit(a, key, GOAL * alone_ns, time_ns, now_ns);
}
