/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live segment that is resized: what a request costs that finds its key in the table before and
 * brings it along, what one costs whose key has moved, how long it takes until all have moved, and
 * how long single requests take meanwhile. And how long they take beside one that becomes ten times
 * as large.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "at.h"
#include "contention.h"
#include "report.h"
#include "walk.h"

#define KEYS 10000000
#define OPERATIONS 100000
#define TIMED 300000
#define SLICE 4096 /* slots of one call to a mover */

enum lane_of_move {
	HOT,
	COLD,
	HOT_MOVING,
	COLD_MOVING,
	BRINGS,
	LANES
};

struct subject {
	struct walk walk;
	uint64_t slots, hot;
};

static void
ask_hot(void *subject, unsigned worker, uint64_t n)
{
	struct subject *s = subject;
	uint64_t key[2] = {s->hot, WALK_SALT};
	struct rl_result r;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		at_check(s->walk.rl, s->walk.rule, key, sizeof key, 1, BENCH_T0, &r);
}

static void
ask_any(void *subject, unsigned worker, uint64_t n)
{
	struct subject *s = subject;

	walk_one(&s->walk, worker, n);
}

/* The same keys as the call before. */
static void
ask_again(void *subject, unsigned worker, uint64_t n)
{
	struct subject *s = subject;

	s->walk.at -= n;
	walk_one(&s->walk, worker, n);
}

static const struct lane lanes[LANES] = {
	[HOT] = {"hot", "a key again and again", ask_hot, NULL, OPERATIONS, 0},
	[COLD] = {"cold", "any of them, dependent", ask_any, NULL, OPERATIONS, 0},
	[HOT_MOVING] = {"hot_moving", "while keys move: one again and again, which has moved",
                        ask_hot, NULL, OPERATIONS, 0},
	[COLD_MOVING] = {"cold_moving", "while keys move: any that has moved, dependent", ask_again,
                         NULL, OPERATIONS, 0},
	[BRINGS] = {"brings",
                    "while keys move: any that has not, which is brought along, dependent", ask_any,
                    NULL, OPERATIONS, 0},
};

static void
resize(struct rl *rl, uint32_t keys)
{
	struct rl_resize to = {.keys = keys};
	int error = rl_resize(rl, &to, 0);

	if (error < 0)
		bench_die("resize: %s", rl_strerror(error));
}

static void
move_some(struct rl *rl, uint64_t first, uint64_t count)
{
	struct rl_moving moving = {0};
	int error = rl_move_slots_at(rl, first, count, BENCH_T0, &moving);

	if (error < 0)
		bench_die("move: %s", rl_strerror(error));
}

static uint64_t
slots_before(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.slots_before;
}

static void
move_all(struct rl *rl)
{
	uint64_t slots = slots_before(rl);

	for (uint64_t first = 0; first < slots; first += SLICE)
		move_some(rl, first, SLICE);
	if (rl_move_end(rl) != 1)
		bench_die("keys are left behind");
}

static void
measure(const struct bench *bench, struct subject *s, enum lane_of_move which,
        struct samples *samples)
{
	struct bench one = *bench;
	struct lane lane = lanes[which];
	struct samples sample;
	unsigned round = samples[which].count++;

	one.rounds = 1;
	lane.arg = s;
	lane.n = bench_n(bench, lane.n);
	lanes_measure(&one, &lane, 1, &sample);
	samples[which].ns[round] = sample.ns[0];
	samples[which].is_disturbed[round] = sample.is_disturbed[0];
}

/*
 * From one table to another of the same size. Nanoseconds for a key, of those that nobody asked
 * for.
 */
static double
play_round(const struct bench *bench, struct subject *s, struct samples samples[LANES])
{
	uint64_t start_ns;

	s->hot = s->walk.at % s->walk.keys;
	measure(bench, s, HOT, samples);
	measure(bench, s, COLD, samples);
	resize(s->walk.rl, 0);
	measure(bench, s, BRINGS, samples);
	measure(bench, s, COLD_MOVING, samples);
	measure(bench, s, HOT_MOVING, samples);
	start_ns = bench_clock_ns();
	move_all(s->walk.rl);
	return (double)(bench_clock_ns() - start_ns) / (double)s->walk.keys;
}

/* ---- single requests, beside a process that moves all keys ---- */

static void
keep_moving(const void *subject)
{
	const struct subject *s = subject;

	for (;;) {
		resize(s->walk.rl, 0);
		move_all(s->walk.rl);
	}
}

static void
measure_timed(const struct bench *bench, struct subject *s, json_t *section)
{
	static struct histogram alone, beside;
	pid_t mover;

	walk_timed(&s->walk, bench_n(bench, TIMED), &alone);
	mover = contention_start(bench, keep_moving, s);
	usleep(10000);
	for (int i = 0; i < 10; i++)
		walk_timed(&s->walk, bench_n(bench, TIMED), &beside);
	contention_stop(mover, "the mover");
	report_histogram(section, &alone, "alone", "single requests, alone");
	report_histogram(section, &beside, "beside",
	                 "single requests, while a process moves all keys");
	if (slots_before(s->walk.rl) > 0) /* it was ended while they moved */
		move_all(s->walk.rl);
}

/* ---- the same, beside one that makes a table ten times as large ---- */

struct growth {
	struct walk walk;
	uint32_t keys;
	uint64_t call_ns;
	bool is_done;
};

static void
grow(const void *growth)
{
	struct growth *g = (struct growth *)(uintptr_t)growth;
	uint64_t start_ns = bench_clock_ns();

	resize(g->walk.rl, g->keys);
	g->call_ns = bench_clock_ns() - start_ns;
	move_all(g->walk.rl);
	__atomic_store_n(&g->is_done, true, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void
measure_growth(const struct bench *bench, uint32_t keys, const struct rl_limit *limit,
               json_t *section)
{
	struct rl_options o = {.keys = keys / 10, .ring = 1, .key_bytes = 16};
	struct growth *g =
		mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct histogram beside;
	pid_t grower;

	if (g == MAP_FAILED)
		bench_die("no memory");
	*g = (struct growth){.walk = {.keys = (uint64_t)o.keys * 9 / 10}, .keys = keys};
	g->walk.rl = bench_open(&o, true);
	g->walk.rule = bench_define(g->walk.rl, "grow", limit);
	bench_insert(g->walk.rl, g->walk.rule, 0, g->walk.keys);
	grower = contention_start(bench, grow, g);
	do
		walk_timed(&g->walk, 1000, &beside);
	while (!__atomic_load_n(&g->is_done, __ATOMIC_ACQUIRE));
	contention_stop(grower, "who grows the table");
	report_histogram(section, &beside, "grow",
	                 "single requests, while a table ten times as large takes the keys");
	report_row(section, &(struct row){.id = "grow_call",
	                                  .label = "the call that makes it",
	                                  .value = (double)g->call_ns / 1e6,
	                                  .unit = "ms"});
	rl_close(g->walk.rl);
	munmap(g, sizeof *g);
}

void
bench_move(struct bench *bench)
{
	json_t *section = report_section(bench->report, "move", "A live segment is resized");
	const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = 3600 * RL_SECOND};
	uint32_t keys = bench->is_quick ? 50000 : KEYS;
	struct rl_options o = {.keys = keys, .ring = 1, .key_bytes = 16};
	struct samples samples[LANES] = {{.count = 0}};
	struct subject s = {.walk = {.keys = (uint64_t)keys * 9 / 10}};
	struct samples moved = {.count = 0};

	s.walk.rl = bench_open(&o, true);
	s.walk.rule = bench_define(s.walk.rl, "move", &limit);
	bench_insert(s.walk.rl, s.walk.rule, 0, s.walk.keys);
	for (unsigned round = 0; round < bench->rounds; round++)
		moved.ns[moved.count++] = play_round(bench, &s, samples);
	report_lane(section, &lanes[HOT], &samples[HOT], NULL, NULL, 0);
	report_lane(section, &lanes[COLD], &samples[COLD], NULL, NULL, 0);
	report_lane(section, &lanes[HOT_MOVING], &samples[HOT_MOVING], &samples[HOT],
	            "the same before", 0);
	report_lane(section, &lanes[COLD_MOVING], &samples[COLD_MOVING], &samples[COLD],
	            "the same before", 2);
	report_lane(section, &lanes[BRINGS], &samples[BRINGS], &samples[COLD], "a cold one before",
	            2);
	report_row(section, &(struct row){.id = "mover",
	                                  .label = "a mover, each key",
	                                  .value = samples_median(&moved),
	                                  .unit = "ns"});
	report_note(section, "%" PRIu64 " keys: a mover takes %.1f s for all of them", s.walk.keys,
	            samples_median(&moved) * (double)s.walk.keys / 1e9);
	measure_timed(bench, &s, section);
	rl_close(s.walk.rl);
	measure_growth(bench, keys, &limit, section);
}
