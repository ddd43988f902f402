/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit that is found.
 *
 *	time a request takes
 *	  |                    /      A server does as many requests at once as it has room for, and
 *	  |                   /       each takes as long as it takes alone. Above that they wait for
 *	  |   goal - - - - - X        each other: more at once is no more done in a second. The limit
 *	  |                / |        is to be right of the knee, so that there is always something
 *	  |   alone ------'  |        to do, and not far from it.
 *	  +----------------------> in flight
 *	                knee limit
 *
 * The goal is GOAL times what a request takes alone: with 2, a request waits as long as it works. Each
 * request that is done moves the limit:
 *
 *	limit += STEP * (goal - time) / goal
 *
 * which is from + STEP, if it took no time, to - STEP, if it took twice the goal or longer. About `limit`
 * requests are done in the time that one takes, so in that time the limit changes by a tenth of itself at
 * most. It rests where requests take the goal on average, however much single ones vary.
 *
 * This is the gradient of Netflix' concurrency-limits (its class Gradient2Limit makes the limit smaller or
 * larger by usual time / time now) and of Envoy's filter adaptive_concurrency, request by request in place of
 * window by window. So it needs no lock and no leader: workers add to one counter of rl, in any order, and the
 * sum is the same. A worker that is killed takes along what its last request would have added.
 *
 * What the workers share are counters by key:
 *
 *	limit     in millionths of a request
 *	alone     ns that a request takes while few others are in flight: a moving average
 *	known     is there for KNOWN times `alone`, from the last request that was alone
 *	looking   is there for LOOK times `alone`; meanwhile the limit is a quarter
 *
 * Why it does not drift. Were `alone` the average of all requests, a crowd that stays would become what is
 * usual, the limit would grow with it, and so would the crowd. So a request counts as alone only if no more
 * than a quarter of the limit was in flight, both when it came and when it went. Under an overload none does.
 * Then `known` ends, and the next request makes it anew, and `looking`: for a moment so few are let in that
 * those in flight leave, and others come and go alone (Envoy measures its minRTT so, and TCP BBR has
 * ProbeRTT). If a quarter of the limit still is beyond the knee, then `alone` comes out as a quarter of what
 * the limit makes requests take, the goal as half of it, and the limit falls. So it ends below four knees,
 * where a quarter of it is alone indeed, and the goal is right.
 *
 * A server that gets slower first gets a lower limit, for its requests miss the goal. When `alone` was looked
 * at again, the limit comes back. A limit of which not half is used says nothing: it stays, and nobody looks.
 *
 * It costs two reads of counters where a request comes in. Where it leaves, three reads, and one or two
 * increments.
 */
#include "adaptive.h"

#include <stdio.h>
#include <string.h>

#define ONE INT64_C(1000000) /* request, as `limit` counts */
#define FIRST 4              /* the limit before anything is known */
#define GOAL 2
#define STEP (ONE / 10)
#define QUARTER 4
/* The average of `alone` is of so many times the limit: as many requests as some looks see. Of those that
 * begin together the slowest end last, and of fewer it would be theirs. */
#define WEIGHT 4
/* Times `alone`: what takes longer counts as this, so that one pause is one request. */
#define LONGEST 4
/* Times `alone`. Those in flight need two to leave; the rest is for slow ones that are alone to be seen. */
#define LOOK 8
#define KNOWN 100
#define HOUR_NS (INT64_C(3600) * (int64_t)RL_SECOND) /* no request counts as longer */

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

/* What this request brings along. */
static uint32_t
capacity_now(const struct adaptive *a, const char *key, uint64_t now_ns)
{
	uint32_t limit = adaptive_limit(a, key, now_ns);

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

	*pass = (struct adaptive_pass){.start_ns = now_ns, .used = r.used, .error = r.error};
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

static void
learn_alone(const struct adaptive *a, const char *key, int64_t alone_ns, int64_t time_ns,
            uint32_t limit, uint64_t now_ns)
{
	uint64_t known_ns = KNOWN * (uint64_t)alone_ns;

	add(a, a->alone, key, (time_ns - alone_ns) / (WEIGHT * (limit + 1)), now_ns);
	rl_counter_set_at(a->rl, a->known, key, strlen(key), 1, known_ns, now_ns, NULL);
}

/* Of those that find `known` gone, one makes it, and looks. */
static void
look(const struct adaptive *a, const char *key, int64_t alone_ns, uint64_t now_ns)
{
	uint64_t known_ns = KNOWN * (uint64_t)alone_ns, look_ns = LOOK * (uint64_t)alone_ns;
	size_t len = strlen(key);

	if (rl_counter_set_new_at(a->rl, a->known, key, len, 1, known_ns, now_ns, NULL) == 1)
		rl_counter_set_at(a->rl, a->looking, key, len, 1, look_ns, now_ns, NULL);
}

/* With what others add meanwhile, it may go beyond its bounds. The next request brings it back. */
static void
move_limit(const struct adaptive *a, const char *key, int64_t goal_ns, int64_t time_ns,
           uint64_t now_ns)
{
	int64_t limit = value_of(a, a->limit, key, now_ns);
	int64_t missed_ns = within(-goal_ns, goal_ns - time_ns, goal_ns);
	int64_t next = within(ONE, limit + STEP * missed_ns / goal_ns, a->max * ONE);

	add(a, a->limit, key, next - limit, now_ns);
}

/* Those in flight when one has left. */
static uint32_t
others(const struct adaptive *a, const char *key, uint64_t now_ns)
{
	struct rl_result r;

	rl_peek_at(a->rl, a->rule, key, strlen(key), now_ns, &r);
	return r.used;
}

static void
learn(const struct adaptive *a, const char *key, uint64_t now_ns, int64_t time_ns, uint32_t used)
{
	int64_t alone_ns = within(0, value_of(a, a->alone, key, now_ns), HOUR_NS);
	uint32_t limit = adaptive_limit(a, key, now_ns);

	if (alone_ns == 0) {
		begin(a, key, time_ns, now_ns);
		return;
	}
	time_ns = within(1, time_ns, LONGEST * alone_ns);
	if (used <= quarter(limit) && others(a, key, now_ns) < quarter(limit))
		learn_alone(a, key, alone_ns, time_ns, limit, now_ns);
	if (2 * used > limit) {
		move_limit(a, key, GOAL * alone_ns, time_ns, now_ns);
		look(a, key, alone_ns, now_ns);
	}
}

void
adaptive_leave(const struct adaptive *a, const char *key, uint64_t now_ns,
               struct adaptive_pass *pass)
{
	if (pass->holds == 0) /* exempt, or undecided: it was not counted */
		return;
	while (rl_release(a->rl, &pass->hold, pass->holds) == -EBUSY)
		;
	learn(a, key, now_ns, within(1, (int64_t)(now_ns - pass->start_ns), HOUR_NS), pass->used);
}
