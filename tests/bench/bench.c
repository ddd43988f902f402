/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nanoseconds per decision, beside what the hardware asks for the same work: the floor. Every
 * line is the median of several rounds, and all lines take turns in each round, so that
 * what disturbs the machine disturbs them alike. Only the ratios of one run are worth quoting.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "handle.h"
#include "hash.h"
#include "rl_admin.h"
#include "stats.h"

#define ROUNDS 9
#define HOT_OPERATIONS 300000
#define KEYS 1000000
#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct rl *hot_rl, *big_rl, *fill_rl;
static int open_rule, shut_rule, estimate_rule, big_rule, fill_rule;
static struct rl_word16 *words; /* as many as the big table has states */
static uint64_t word_count;
static uint64_t fill_next;
static volatile uint64_t sink;

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* An order of keys without a pattern that a prefetcher could follow. */
static uint64_t
scramble(uint64_t i)
{
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

static void
floor_clock(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = rl_now(hot_rl);
}

static void
floor_hash(uint64_t n)
{
	struct rl_hash_key secret = {.k0 = sink, .k1 = 2};
	uint64_t key[2] = {1, 2};

	for (uint64_t i = 0; i < n; i++)
		key[0] = rl_hash_with(secret, 1, key, sizeof key).a;
	sink = key[0];
}

static void
floor_cas16(uint64_t n)
{
	struct rl_word16 seen = words[0];

	for (uint64_t i = 0; i < n; i++) {
		struct rl_word16 next = {.lo = seen.lo + 1, .hi = seen.hi};
		rl_atomic_cas16(&words[0], seen, next);
		seen = next;
	}
}

/* The place of each CAS16 depends on what the last one met. */
static void
floor_random_cas16(uint64_t n)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct rl_word16 *word =
			&words[(uint64_t)((unsigned __int128)scramble(i + at) * word_count >> 64)];
		struct rl_word16 seen = *word, next = {.lo = seen.lo + 1, .hi = seen.hi};
		rl_atomic_cas16(word, seen, next);
		at = seen.lo & 1;
	}
}

static void
stats_add(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		rl_stats_add(&hot_rl->segment, open_rule, RL_COUNT_allowed);
}

static void
check_hot(uint64_t n, int rule, bool reads_clock)
{
	uint64_t key[2] = {1, 2};
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		if (reads_clock)
			rl_check(hot_rl, rule, key, sizeof key, 1, &r);
		else
			rl_check_at(hot_rl, rule, key, sizeof key, 1, T0, &r);
	}
	sink = r.remaining;
}

static void
admit_with_clock(uint64_t n)
{
	check_hot(n, open_rule, true);
}

static void
admit_with_now(uint64_t n)
{
	check_hot(n, open_rule, false);
}

static void
deny_hard(uint64_t n)
{
	check_hot(n, shut_rule, false);
}

static void
deny_estimate(uint64_t n)
{
	check_hot(n, estimate_rule, false);
}

static void
admit_million(uint64_t n)
{
	uint64_t at = 0;
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {scramble(i + at) % KEYS, 3};
		rl_check_at(big_rl, big_rule, key, sizeof key, 1, T0, &r);
		at = r.remaining & 1;
	}
}

static void
insert_new(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {fill_next++, 3};
		rl_check_at(fill_rl, fill_rule, key, sizeof key, 1, T0, NULL);
	}
}

enum line {
	CLOCK,
	HASH,
	CAS16,
	RANDOM_CAS16,
	STATS,
	ADMIT_CLOCK,
	ADMIT_NOW,
	DENY_HARD,
	DENY_ESTIMATE,
	ADMIT_MILLION,
	INSERT,
	LINES
};

static const struct {
	const char *name;
	void (*run)(uint64_t n);
	uint64_t operations;
} lines[LINES] = {
	[CLOCK] = {"clock read", floor_clock, HOT_OPERATIONS},
	[HASH] = {"SipHash-1-3-128 of a 16-byte key", floor_hash, HOT_OPERATIONS},
	[CAS16] = {"CAS16, uncontended", floor_cas16, HOT_OPERATIONS},
	[RANDOM_CAS16] = {"CAS16, dependent, over the states of 1M keys", floor_random_cas16, KEYS},
	[STATS] = {"one statistics add", stats_add, HOT_OPERATIONS},
	[ADMIT_CLOCK] = {"hot key admitted, library's clock", admit_with_clock, HOT_OPERATIONS},
	[ADMIT_NOW] = {"hot key admitted, caller's now", admit_with_now, HOT_OPERATIONS},
	[DENY_HARD] = {"hot key denied, hard, 8 sub-buckets", deny_hard, HOT_OPERATIONS},
	[DENY_ESTIMATE] = {"hot key denied, estimate, 1 sub-bucket", deny_estimate, HOT_OPERATIONS},
	[ADMIT_MILLION] = {"one of 1M keys admitted, dependent", admit_million, KEYS},
	[INSERT] = {"first request of a key, table of 1M", insert_new, KEYS / ROUNDS},
};

static int
define(struct rl *rl, const char *name, uint32_t capacity, uint32_t granularity, int hard)
{
	const struct rl_rule rule = {.name = name,
	                             .limit.capacity = capacity,
	                             .limit.window_ns = 3600 * RL_SECOND,
	                             .limit.granularity = granularity,
	                             .limit.hard = hard};
	int id = rl_define(rl, &rule);

	if (id < 0) {
		fprintf(stderr, "bench: rule %s: %s\n", name, rl_strerror(id));
		exit(2);
	}
	return id;
}

static struct rl *
open_segment(uint32_t keys, uint32_t ring)
{
	struct rl *rl;
	int error = rl_open_private(&(struct rl_options){.keys = keys, .ring = ring}, &rl);

	if (error < 0) {
		fprintf(stderr, "bench: %s\n", rl_strerror(error));
		exit(2);
	}
	return rl;
}

static void
set_up(void)
{
	struct rl_info info;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	hot_rl = open_segment(1000, 8);
	open_rule = define(hot_rl, "open", RL_CAPACITY_MAX, 8, 1);
	shut_rule = define(hot_rl, "shut", 1, 8, 1);
	estimate_rule = define(hot_rl, "estimate", 1, 1, 0);
	big_rl = open_segment(KEYS, 1);
	big_rule = define(big_rl, "big", RL_CAPACITY_MAX, 1, 1);
	fill_rl = open_segment(KEYS, 1);
	fill_rule = define(fill_rl, "fill", RL_CAPACITY_MAX, 1, 1);
	rl_info(big_rl, &info);
	word_count = info.slots;
	words = aligned_alloc(4096, (word_count * sizeof *words + 4095) / 4096 * 4096);
	if (!words)
		exit(2);
	for (uint64_t i = 0; i < word_count; i++)
		words[i] = (struct rl_word16){.lo = i};
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t key[2] = {i, 3};
		rl_check_at(big_rl, big_rule, key, sizeof key, 1, T0, NULL);
	}
	/* The pages of the table to be filled are there before it is: a claim, not a page fault. */
	rl_sweep_at(fill_rl, T0);
	for (uint64_t i = 0; i < info.slots; i++)
		fill_rl->segment.records[i * fill_rl->segment.geometry.record_bytes] = 1;
}

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double result[LINES][ROUNDS];

static double
median(enum line line)
{
	qsort(result[line], ROUNDS, sizeof(double), by_size);
	return result[line][ROUNDS / 2];
}

int
main(void)
{
	double ns[LINES];

	set_up();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < LINES; i++) {
			uint64_t start = cpu_ns();
			lines[i].run(lines[i].operations);
			result[i][round] = (double)(cpu_ns() - start) / (double)lines[i].operations;
		}
	}
	for (int i = 0; i < LINES; i++) {
		ns[i] = median((enum line)i);
		printf("%-48s %8.1f ns\n", lines[i].name, ns[i]);
	}
	double hot = ns[HASH] + ns[CAS16];
	printf("\nratios of this run\n");
	printf("hot admit / (clock + hash + CAS16)               %8.2f\n",
	       ns[ADMIT_CLOCK] / (ns[CLOCK] + hot));
	printf("hot admit, caller's now / (hash + CAS16)         %8.2f\n", ns[ADMIT_NOW] / hot);
	printf("hot deny, hard / hot admit                       %8.2f\n",
	       ns[DENY_HARD] / ns[ADMIT_NOW]);
	printf("hot deny, estimate / hot admit                   %8.2f\n",
	       ns[DENY_ESTIMATE] / ns[ADMIT_NOW]);
	printf("one of 1M keys / dependent random CAS16          %8.2f\n",
	       ns[ADMIT_MILLION] / ns[RANDOM_CAS16]);
	printf("first request of a key / later one, 1M keys      %8.2f\n",
	       ns[INSERT] / ns[ADMIT_MILLION]);
	return 0;
}
