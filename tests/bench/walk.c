/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"
#include "at.h"

#include <stdlib.h>

#include "rule/handle.h"

#define WINDOW (3600 * RL_SECOND)

struct walk *
walk_open(uint32_t capacity, enum bench_pages pages, const char **reason)
{
	const struct rl_options options = {.keys = capacity, .ring = 1, .key_bytes = 16};
	const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = WINDOW};
	struct rl *rl = bench_open_pages(&options, pages, reason);
	struct walk *w = rl ? calloc(1, sizeof *w) : NULL;

	if (!rl)
		return NULL;
	if (!w)
		bench_die("no memory");
	w->rl = rl;
	w->rule = bench_define(rl, "walk", &limit);
	w->keys = w->next = (uint64_t)capacity * 9 / 10;
	bench_insert(rl, w->rule, 0, w->keys);
	return w;
}

void
walk_close(struct walk *w)
{
	rl_close(w->rl);
	free(w);
}

void
walk_one(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;
	uint64_t zero = bench_zero, last = worker;
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {bench_pick(w->at++ + (last & zero), w->keys), WALK_SALT};
		at_check(w->rl, w->rule, key, sizeof key, 1, BENCH_T0, &r);
		last = r.remaining;
	}
}

void
walk_batch(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;
	struct rl_item items[WALK_BATCH];
	struct rl_result results[WALK_BATCH];
	uint64_t key[WALK_BATCH][2];

	(void)worker;
	for (uint64_t i = 0; i < n; i += WALK_BATCH) {
		for (unsigned j = 0; j < WALK_BATCH; j++) {
			key[j][0] = bench_pick(w->at++, w->keys);
			key[j][1] = WALK_SALT;
			items[j] = (struct rl_item){.rule = w->rule,
			                            .key = key[j],
			                            .key_len = sizeof key[j],
			                            .cost = 1};
		}
		at_check_many(w->rl, items, WALK_BATCH, BENCH_T0, results);
	}
}

void
walk_insert(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;
	uint64_t zero = bench_zero, last = worker;
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {w->next++ + (last & zero), WALK_SALT};
		at_check(w->rl, w->rule, key, sizeof key, 1, BENCH_T0, &r);
		last = r.remaining;
	}
}

/* Each is replaced by itself: nothing of the table changes. */
void
walk_floor(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;
	const struct rl_table *t = &w->rl->segment.table;
	uint64_t zero = bench_zero, last = worker, states = (uint64_t)t->buckets * RL_BUCKET_SLOTS;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = bench_pick(w->at++ + (last & zero), states);
		struct rl_u128 *state =
			&t->bucket[at / RL_BUCKET_SLOTS].state[at % RL_BUCKET_SLOTS];
		struct rl_u128 seen = *state;
		rl_atomic_cas16(state, seen, seen);
		last = seen.lo;
	}
}

void
walk_timed(struct walk *w, uint64_t n, struct histogram *h)
{
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {bench_pick(w->at++, w->keys), WALK_SALT};
		uint64_t start_ns = bench_clock_ns();
		at_check(w->rl, w->rule, key, sizeof key, 1, BENCH_T0, &r);
		histogram_add(h, bench_clock_ns() - start_ns);
	}
}
