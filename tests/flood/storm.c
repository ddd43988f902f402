/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes ask on one full segment, at the same time, and are killed at any instant and replaced.
 *
 * They share a clock, which each of them moves on by a little. A request has its clock, which may
 * be late by half the buffer, and when it has returned the shared clock is read again: it counts at
 * a time between the two. Each admission is noted in the process's own journal after it has
 * returned, so what a killed process was doing is missing, which only lowers what is found.
 *
 *	      now        real             A span of one window that begins with some `now` holds
 *	  1   |-----------|               for certain all that lie in it with both ends: here 1 and
 *	  2      |----|                   2, not 3. If that is more than the capacity, too much was
 *	  3             |------------|    admitted, whatever the order was.
 *	      [   a window    ]
 *
 * A clock that others move on while a process is not running is as late as that. So time stands
 * still while somebody is about to be later than the buffer: see move_on().
 *
 * Some keys are reset at times; these are not judged. Some requests are settled: to less, which is
 * noted before, or to more. Of a debt nothing is noted: what is admitted is judged without it.
 */
#include "storm.h"
#include "at.h"

#include <err.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dice.h"
#include "rl_admin.h"
#include "world.h"

#define WORKERS 4
#define NOTES 400000   /* of a process; then it rests */
#define ROUND_MS 500   /* of a segment */
#define KILL_US 3000   /* one in so much time, on average twice as many */
#define TOGETHER 64    /* admissions of a bucket that are judged together */
#define RESET_EVERY 16 /* keys: each 16th is reset at times */
#define KEPT 16        /* charges of a process that may still be settled */

struct note {
	uint64_t now_ns, real_ns;
	uint32_t cost;
	uint16_t key;
	uint16_t rule;
};

struct journal {
	_Atomic uint64_t busy_ns; /* the clock of the request under way; 0: none */
	_Atomic uint32_t count;
	struct note note[NOTES];
};

struct shared {
	_Atomic uint64_t now_ns;
	struct journal journal[WORKERS];
};

/* An admission, as one limit counts it. */
struct span {
	unsigned as;
	uint64_t now_ns, real_ns, cost;
};

/* An admission that may be settled, and where it was noted, if it was. */
struct kept {
	struct rl_charges charges;
	struct note *note;
	uint64_t cost;
};

struct worker {
	struct shared *shared;
	struct journal *journal;
	const struct world *world;
	uint64_t dice;
	uint64_t step_ns;
	struct kept kept[KEPT];
};

struct totals {
	uint64_t requests, admitted, judged, kills, strangers, folded, undecided, over, damaged;
};

static struct world world; /* large */
static struct span *spans; /* room for all notes */

/* No process is later than the buffer, were it `now_ns`. */
static int
all_keep_up(const struct worker *w, uint64_t now_ns)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		uint64_t busy_ns = atomic_load(&w->shared->journal[i].busy_ns);
		if (busy_ns > 0 && busy_ns + w->world->options.buffer_ns < now_ns)
			return 0;
	}
	return 1;
}

/*
 * Who looked before another wrote his clock may move on once after it, each of the others: by three
 * steps in all, which are far less than the other half of the buffer.
 */
static void
move_on(struct worker *w)
{
	uint64_t now_ns = atomic_load(&w->shared->now_ns);
	uint64_t next_ns = now_ns + dice_below(&w->dice, w->step_ns);

	if (all_keep_up(w, next_ns))
		atomic_compare_exchange_strong(&w->shared->now_ns, &now_ns, next_ns);
	else
		sched_yield();
}

/* A clock that is known to the others before it is used. */
static uint64_t
begin(struct worker *w)
{
	uint64_t late_ns = 0, now_ns;

	if (dice_one_in(&w->dice, 6))
		late_ns = dice_below(&w->dice, w->world->options.buffer_ns / 2);
	do {
		now_ns = atomic_load(&w->shared->now_ns);
		atomic_store(&w->journal->busy_ns, now_ns - late_ns);
	} while (atomic_load(&w->shared->now_ns) != now_ns);
	return now_ns - late_ns;
}

static struct note *
note(struct worker *w, unsigned rule, unsigned key, uint64_t cost, uint64_t now_ns)
{
	uint32_t count = atomic_load(&w->journal->count);
	struct note *it = &w->journal->note[count];

	if (count == NOTES)
		return NULL;
	*it = (struct note){.now_ns = now_ns,
	                    .real_ns = atomic_load(&w->shared->now_ns),
	                    .cost = (uint32_t)cost,
	                    .key = (uint16_t)key,
	                    .rule = (uint16_t)rule};
	atomic_store(&w->journal->count, count + 1);
	return it;
}

static void
ask(struct worker *w, unsigned key, const char *text, size_t len)
{
	unsigned rule = (unsigned)dice_below(&w->dice, WORLD_RULES);
	const struct world_rule *it = &w->world->rule[rule];
	uint64_t cost = dice_one_in(&w->dice, 5) ? 1 + dice_below(&w->dice, it->cost_most) : 1;
	uint64_t now_ns = begin(w);
	struct kept *k = &w->kept[dice_below(&w->dice, KEPT)];
	const struct rl_item item = {.rule = it->handle,
	                             .key = text,
	                             .key_len = len,
	                             .cost = cost,
	                             .charges = &k->charges};

	k->charges.count = 0;
	if (at_check_item(w->world->rl, &item, now_ns, NULL) != RL_ALLOWED)
		return;
	k->cost = cost;
	k->note = note(w, rule, key, cost, now_ns);
}

/* To less as a rule. */
static void
settle(struct worker *w)
{
	struct kept *k = &w->kept[dice_below(&w->dice, KEPT)];
	uint64_t actual;

	if (k->charges.count == 0)
		return;
	actual = dice_below(&w->dice, k->cost + (dice_one_in(&w->dice, 8) ? k->cost + 1 : 0) + 1);
	if (k->note && actual < k->cost)
		k->note->cost = (uint32_t)actual;
	at_settle(w->world->rl, &k->charges, actual, begin(w));
	k->charges.count = 0;
}

static void
ask_both(struct worker *w, unsigned key, const char *text, size_t len)
{
	struct rl_item items[WORLD_RULES];
	uint64_t now_ns = begin(w);

	for (unsigned i = 0; i < WORLD_RULES; i++)
		items[i] = (struct rl_item){
			.rule = w->world->rule[i].handle, .key = text, .key_len = len, .cost = 1};
	if (at_check_all(w->world->rl, items, WORLD_RULES, now_ns, NULL, NULL) != RL_ALLOWED)
		return;
	for (unsigned i = 0; i < WORLD_RULES; i++)
		note(w, i, key, 1, now_ns);
}

static void
step(struct worker *w)
{
	char text[WORLD_KEY_SIZE];
	unsigned key =
		(unsigned)dice_below(&w->dice, dice_one_in(&w->dice, 2) ? 4 : w->world->keys);
	size_t len = world_key(w->world, key, text);

	move_on(w);
	if (dice_one_in(&w->dice, 4))
		settle(w);
	if (dice_one_in(&w->dice, 500))
		rl_sweep_at(w->world->rl, atomic_load(&w->shared->now_ns));
	if (key % RESET_EVERY == RESET_EVERY - 1 && dice_one_in(&w->dice, 16))
		rl_reset(w->world->rl, w->world->rule[0].handle, text, len);
	else if (dice_one_in(&w->dice, 10))
		ask_both(w, key, text, len);
	else
		ask(w, key, text, len);
	atomic_store(&w->journal->busy_ns, 0);
}

static pid_t
start(struct shared *shared, unsigned i, uint64_t seed, uint64_t step_ns)
{
	struct worker w = {.shared = shared,
	                   .journal = &shared->journal[i],
	                   .world = &world,
	                   .dice = seed,
	                   .step_ns = step_ns};
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		for (unsigned n = 0; n < 1000; n++)
			step(&w);
	_exit(0);
}

static void
kill_one(struct shared *shared, unsigned i, pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		errx(2, "a process ended by itself: %d", status);
	atomic_store(&shared->journal[i].busy_ns, 0);
}

static uint64_t
milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
strike(struct shared *shared, uint64_t *dice, uint64_t step_ns, struct totals *t)
{
	uint64_t end = milliseconds() + ROUND_MS;
	pid_t pids[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++)
		pids[i] = start(shared, i, dice_mix(*dice + i), step_ns);
	while (milliseconds() < end) {
		unsigned i = (unsigned)dice_below(dice, WORKERS);
		usleep((useconds_t)dice_below(dice, KILL_US));
		kill_one(shared, i, pids[i]);
		pids[i] = start(shared, i, dice_mix((*dice)++), step_ns);
		t->kills++;
	}
	for (unsigned i = 0; i < WORKERS; i++)
		kill_one(shared, i, pids[i]);
}

static int
by_key_and_time(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->as != b->as)
		return a->as < b->as ? -1 : 1;
	return a->now_ns < b->now_ns ? -1 : a->now_ns > b->now_ns;
}

static size_t
collect(const struct shared *shared, unsigned rule, unsigned limit)
{
	size_t count = 0;

	for (unsigned i = 0; i < WORKERS; i++) {
		const struct journal *j = &shared->journal[i];
		for (uint32_t n = 0; n < j->count; n++) {
			const struct note *it = &j->note[n];
			if (it->rule != rule)
				continue;
			spans[count++] =
				(struct span){.as = world_counted_as(&world, limit, it->key),
			                      .now_ns = it->now_ns,
			                      .real_ns = it->real_ns,
			                      .cost = it->cost};
		}
	}
	qsort(spans, count, sizeof *spans, by_key_and_time);
	return count;
}

/* A key that is reset, or a network one of whose addresses is. */
static int
is_reset(unsigned limit, unsigned as)
{
	unsigned every = world.is_address && limit == 1 ? RESET_EVERY / 4 : RESET_EVERY;

	return as % every == every - 1;
}

/* What lies in [from, end] for certain. */
static uint64_t
cost_within(size_t first, size_t count, uint64_t end_ns)
{
	uint64_t sum = 0;

	for (size_t i = first; i < count && spans[i].as == spans[first].as; i++) {
		if (spans[i].now_ns > end_ns)
			break;
		if (spans[i].real_ns <= end_ns)
			sum += spans[i].cost;
	}
	return sum;
}

static int
is_over_bucket(const struct log_limit *l, size_t first, size_t count)
{
	for (size_t i = first; i < count && i < first + TOGETHER; i++) {
		uint64_t end_ns = spans[i].real_ns, from_ns = spans[first].now_ns;
		if (spans[i].as != spans[first].as)
			break;
		if (cost_within(first, count, end_ns) * l->window_ns >
		    l->capacity * l->window_ns + (end_ns - from_ns))
			return 1;
	}
	return 0;
}

static int
is_over(const struct log_limit *l, size_t first, size_t count)
{
	uint64_t from_ns = spans[first].now_ns;

	switch (l->kind) {
	case LOG_SOFT:
		return 0;
	case LOG_BUCKET:
		return is_over_bucket(l, first, count);
	case LOG_FIXED:
		return cost_within(first, count, (from_ns / l->window_ns + 1) * l->window_ns - 1) >
		       l->capacity;
	case LOG_TWICE:
		return cost_within(first, count, from_ns + l->window_ns - 1) > 2 * l->capacity;
	default:
		return cost_within(first, count, from_ns + l->window_ns - 1) > l->capacity;
	}
}

static void
judge(const struct shared *shared, unsigned rule, unsigned limit, struct totals *t)
{
	const struct log_limit *l = &world.rule[rule].limit[limit].exact;
	size_t count = collect(shared, rule, limit);

	for (size_t i = 0; i < count; i++) {
		if (is_reset(limit, spans[i].as))
			continue;
		t->judged += l->kind != LOG_SOFT;
		if (!is_over(l, i, count))
			continue;
		if (t->over++ > 0)
			continue;
		printf("over-admission: rule %u limit %u key %u from %" PRIu64 ", of ", rule, limit,
		       spans[i].as, spans[i].now_ns - WORLD_START_NS);
		world_print(&world);
	}
}

static void
add_up(struct totals *t)
{
	t->admitted += world_counter(&world, RL_COUNT_allowed);
	t->requests += world_counter(&world, RL_COUNT_allowed) +
	               world_counter(&world, RL_COUNT_denied) +
	               world_counter(&world, RL_COUNT_undecided);
	t->undecided += world_counter(&world, RL_COUNT_full_undecided);
	t->strangers += world_counter(&world, RL_COUNT_reserved);
	t->folded += world_counter(&world, RL_COUNT_folded);
}

static void
round_of(struct shared *shared, enum rl_on_full on_full, uint64_t seed, struct totals *t)
{
	uint64_t dice = dice_mix(seed);
	struct rl_info info;
	char name[32];

	snprintf(name, sizeof name, "flood-%ld", (long)getpid());
	world_open(&world, seed, on_full, name);
	rl_info(world.rl, &info);
	atomic_store(&shared->now_ns, WORLD_START_NS + dice_below(&dice, world.window_ns));
	for (unsigned i = 0; i < WORKERS; i++)
		atomic_store(&shared->journal[i].count, 0);
	strike(shared, &dice, world.window_ns / (info.slots << dice_below(&dice, 4)) + 1, t);
	for (unsigned rule = 0; rule < WORLD_RULES; rule++)
		for (unsigned limit = 0; limit < world.rule[rule].limits; limit++)
			judge(shared, rule, limit, t);
	add_up(t);
	t->damaged += (unsigned)world_is_damaged(&world, atomic_load(&shared->now_ns));
	world_close(&world);
}

int
storm(enum rl_on_full on_full, uint64_t seed, unsigned seconds)
{
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t end = milliseconds() + seconds * UINT64_C(1000);
	struct totals t = {0};

	spans = calloc(WORKERS * NOTES, sizeof *spans);
	if (shared == MAP_FAILED || !spans)
		err(2, NULL);
	while (milliseconds() < end)
		round_of(shared, on_full, seed++, &t);
	printf("%" PRIu64 " requests, %" PRIu64 " admitted, %" PRIu64 " judged, %" PRIu64
	       " processes killed, %" PRIu64 " of strangers, %" PRIu64 " keys folded; %" PRIu64
	       " over-admissions, %" PRIu64 " undecided for want of places\n",
	       t.requests, t.admitted, t.judged, t.kills, t.strangers, t.folded, t.over,
	       t.undecided);
	munmap(shared, sizeof *shared);
	free(spans);
	return t.over > 0 || t.damaged > 0 || (on_full == RL_FULL_RESERVE && t.undecided > 0);
}
