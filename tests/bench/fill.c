/* SPDX-License-Identifier: BSD-2-Clause */
/* From a quarter full to no slot left. */
#include <stdio.h>
#include <stdlib.h>

#include "at.h"
#include "report.h"
#include "walk.h"

#define OPERATIONS 100000
#define KEYS 750000
#define STEPS 5
#define LANES (STEPS + 3) /* past the steps: a new key finds no slot */
#define TABLES (STEPS + 1)

#define WINDOW (3600 * RL_SECOND)

static const unsigned percent[STEPS] = {25, 50, 75, 90, 100};

struct table {
	struct walk walk;
	uint64_t *order;
	char id[32], label[96];
};

/* Insert until `wanted` slots are used, and note the keys that found one. */
static void
fill_to(struct table *t, uint64_t wanted)
{
	struct walk *w = &t->walk;
	uint64_t tries = wanted * 4; /* the last free slots of a table wait for their key */

	t->order = malloc(wanted * sizeof *t->order);
	if (!t->order)
		bench_die("no memory");
	for (; w->keys < wanted && w->next < tries; w->next++) {
		struct rl_result r;
		uint64_t key[2] = {w->next, WALK_SALT};
		if (at_check(w->rl, w->rule, key, sizeof key, 1, BENCH_T0, &r) == RL_ALLOWED &&
		    r.error == 0 && r.reason == RL_BY_LIMIT)
			t->order[w->keys++] = w->next;
	}
}

/* So that a walk in order is one at random. */
static void
shuffle(uint64_t *order, uint64_t count)
{
	for (uint64_t i = count; i > 1; i--) {
		uint64_t j = bench_pick(i, i), last = order[i - 1];
		order[i - 1] = order[j];
		order[j] = last;
	}
}

/* walk_one(), among the keys that found a slot. */
static void
ask_in_order(void *table, unsigned worker, uint64_t n)
{
	struct table *t = table;
	struct walk *w = &t->walk;
	uint64_t zero = bench_zero, last = worker;
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {t->order[w->at] + (last & zero), WALK_SALT};
		w->at = w->at + 1 < w->keys ? w->at + 1 : 0;
		at_check(w->rl, w->rule, key, sizeof key, 1, BENCH_T0, &r);
		last = r.remaining;
	}
}

static void
make(struct table *t, uint32_t keys, unsigned fill, enum rl_on_full on_full)
{
	const struct rl_options options = {
		.keys = keys,
		.ring = 1,
		.key_bytes = 16,
		.on_full = on_full,
		/* few, so that most are in use: else a key looks for a slot before */
		.cells = on_full == RL_FULL_RESERVE ? 1024 : 0};
	const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = WINDOW};
	struct rl_info info;

	*t = (struct table){.walk.rl = bench_open(&options, false)};
	t->walk.rule = bench_define(t->walk.rl, "fill", &limit);
	rl_info(t->walk.rl, &info);
	fill_to(t, info.slots * fill / 100);
	shuffle(t->order, t->walk.keys);
	snprintf(t->id, sizeof t->id, "hit_%u", fill);
	snprintf(t->label, sizeof t->label, "%.1f %% of slots used: hit, dependent",
	         100 * (double)rl_fill(t->walk.rl) / (double)info.slots);
}

static void
drop(struct table *t)
{
	free(t->order);
	rl_close(t->walk.rl);
}

static void
tell(json_t *section, const struct lane *lanes, const struct samples *s)
{
	for (int i = 0; i < LANES; i++)
		report_lane(section, &lanes[i], &s[i], &s[0], i > 0 ? "a hit at 25 %" : NULL, 0);
}

void
bench_fill(struct bench *bench)
{
	json_t *section = report_section(bench->report, "fill", "Slots used");
	const struct rl_limit hour = {.capacity = RL_CAPACITY_MAX, .window_ns = WINDOW};
	uint32_t keys = bench->is_quick ? KEYS / 100 : KEYS;
	uint64_t n = bench_n(bench, OPERATIONS);
	struct samples samples[LANES];
	struct table table[TABLES];
	struct lane lanes[LANES];
	struct walk others;
	const struct {
		const char *id, *label;
		struct walk *walk;
	} full[LANES - STEPS] = {
		{"deny", "no slot left: a new key is denied, as on_full says",
	         &table[STEPS - 1].walk},
		{"overflow", "no slot left: a new key is counted in an overflow counter",
	         &table[STEPS].walk},
		{"fold", "no slot left: a key of another rule gives way", &others},
	};

	for (int i = 0; i < STEPS; i++) {
		make(&table[i], keys, percent[i], RL_FULL_DENY);
		lanes[i] =
			(struct lane){table[i].id, table[i].label, ask_in_order, &table[i], n, 0};
	}
	make(&table[STEPS], keys, 100, RL_FULL_RESERVE);
	others = table[STEPS].walk;
	others.rule = bench_define(others.rl, "others", &hour);
	others.next = 0;
	for (int i = 0; i < LANES - STEPS; i++)
		lanes[STEPS + i] = (struct lane){full[i].id,   full[i].label, walk_insert,
		                                 full[i].walk, n / 5,         0};
	lanes_measure(bench, lanes, LANES, samples);
	tell(section, lanes, samples);
	for (int i = 0; i < TABLES; i++)
		drop(&table[i]);
}
