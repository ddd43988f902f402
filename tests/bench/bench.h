/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_H
#define BENCH_H

/*
 * What the sections of the benchmark share. A section measures a handful of lanes, which take turns
 * in every round, so that what disturbs the machine disturbs them alike. What is told of a lane is
 * the least of its rounds, beside the least of another's; and how sure that is: the rounds are cut
 * in three, and the medians of each third's ratios, taken within a round, have a range. Of
 * processes that meet each other, the least means little, and the median of all rounds is told.
 * Only ratios of one run are worth quoting.
 *
 *	main -> sections (costs, growth, ...) -> lanes   measuring
 *	                                      -> report  what is told -> table, JSON
 *	                                                 JSON -> picture, figures.py
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rl_admin.h"

#define BENCH_ROUNDS 9      /* of a section */
#define BENCH_ROUNDS_MAX 45 /* where they are short */
#define BENCH_T0 (UINT64_C(1700000000) * RL_SECOND)

struct json_t;

struct bench {
	struct json_t *report; /* of report.h */
	bool is_quick;         /* a slice of everything: that it runs, not what comes out */
	unsigned rounds;       /* at most BENCH_ROUNDS_MAX */
	unsigned cpus;
};

/* One contestant. */
struct lane {
	const char *id; /* in the JSON, unique within its section */
	const char *label;
	void (*run)(void *arg, unsigned worker, uint64_t n);
	void *arg;
	uint64_t n;       /* operations of each worker in a round */
	unsigned workers; /* processes on CPUs of their own as far as there are; 0: this one */
};

/* Nanoseconds per operation of all workers together, one for each round. */
struct samples {
	double ns[BENCH_ROUNDS_MAX];
	bool is_disturbed[BENCH_ROUNDS_MAX]; /* another process had a worker's CPU for a while */
	unsigned count;
};

void lanes_measure(const struct bench *bench, const struct lane *lanes, size_t count,
                   struct samples *samples);

/* Of the rounds that were not disturbed, unless all were. */
double samples_median(const struct samples *s);
double samples_least(const struct samples *s);
unsigned samples_disturbed(const struct samples *s);
struct samples samples_ratio(const struct samples *a, const struct samples *b);

/*
 * The lowest and the highest of the medians of three parts, each of rounds that followed each
 * other.
 */
struct range {
	double low, high;
};
struct range samples_medians(const struct samples *s);

/* The same bench with as many rounds as there can be, or in a quick run three. */
struct bench bench_many_rounds(const struct bench *bench);

/* Operations for a full round, or for a quick one. */
uint64_t bench_n(const struct bench *bench, uint64_t n);

/* This process, and those it forks, on that CPU; -1: on any. */
void bench_pin(const struct bench *bench, int worker);

uint64_t bench_clock_ns(void);

/* An order of keys without a pattern that a prefetcher could follow. */
static inline uint64_t
bench_scramble(uint64_t i)
{
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

/* Evenly in [0, bound), without a division. */
static inline uint64_t
bench_pick(uint64_t i, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)bench_scramble(i) * bound >> 64);
}

/* Always 0, which the compiler cannot know: what is multiplied by it is still waited for. */
extern volatile uint64_t bench_zero;
extern volatile uint64_t bench_sink;

__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);

/* The sections, in the order of the report. */
void bench_costs(struct bench *bench);
void bench_lines(struct bench *bench);
void bench_growth(struct bench *bench);
void bench_fill(struct bench *bench);
void bench_scale(struct bench *bench);
void bench_latency(struct bench *bench);
void bench_scan(struct bench *bench);
void bench_tables(struct bench *bench);
void bench_peers(struct bench *bench);
void bench_accuracy(struct bench *bench);
void bench_memory(struct bench *bench);
void bench_tools(struct bench *bench);
void bench_move(struct bench *bench);
void bench_replay(struct bench *bench);

#endif
