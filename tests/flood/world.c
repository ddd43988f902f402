/* SPDX-License-Identifier: BSD-2-Clause */
#include "world.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dice.h"
#include "rl_admin.h"

#define RING 64
#define LONG 1000 /* windows: a bucket has all back by then that it was charged as debts */

static const char *const words[] = {
	[RL_FULL_DENY] = "deny",
	[RL_FULL_ALLOW] = "allow",
	[RL_FULL_RESERVE] = "reserve",
};

int
world_on_full(const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i]) == 0)
			return (int)i;
	return -1;
}

static uint32_t
below(uint64_t *seed, uint32_t limit)
{
	return (uint32_t)dice_below(seed, limit);
}

/* A sliding window, soft or hard: most of what is there. */
static void
choose_sliding(struct rl_limit *l, uint64_t *seed)
{
	static const uint32_t granularity[] = {1, 2, 3, 4, 6, 8, 20, 60};

	l->granularity = granularity[below(seed, 8)];
	l->hard = dice_one_in(seed, 4) ? 0 : 1;
	l->window_ns = l->granularity * (RL_WINDOW_MIN + dice_below(seed, RL_WINDOW_MIN));
}

static void
choose_bucket(struct rl_limit *l, uint64_t *seed)
{
	l->window_ns = l->capacity * (RL_WINDOW_MIN + dice_below(seed, RL_WINDOW_MIN));
	l->burst = below(seed, 2 * l->capacity + 1);
}

/* What a lane of an overflow counter has room for, or only fewer and wider ones. */
static uint32_t
choose_capacity(enum rl_algorithm algorithm, uint64_t *seed)
{
	static const uint32_t wide[] = {33, 70, 2500};

	if (algorithm != RL_SLIDING_LOG && dice_one_in(seed, 4))
		return wide[below(seed, 3)];
	return 1 + below(seed, 10);
}

static struct rl_limit
choose_limit(uint64_t *seed)
{
	static const enum rl_algorithm algorithm[] = {
		RL_SLIDING_WINDOW, RL_SLIDING_WINDOW, RL_SLIDING_WINDOW, RL_FIXED_WINDOW,
		RL_SLIDING_LOG,    RL_TOKEN_BUCKET,   RL_LEAKY_BUCKET,   RL_ANCHORED_WINDOW,
	};
	struct rl_limit l = {.algorithm = algorithm[below(seed, 8)]};

	l.capacity = choose_capacity(l.algorithm, seed);
	l.window_ns = RL_WINDOW_MIN * (1 + dice_below(seed, 10)) + dice_below(seed, 1000);
	if (l.algorithm == RL_SLIDING_WINDOW)
		choose_sliding(&l, seed);
	if (l.algorithm == RL_TOKEN_BUCKET || l.algorithm == RL_LEAKY_BUCKET)
		choose_bucket(&l, seed);
	return l;
}

static void
choose_rule(struct world *w, struct world_rule *rule, uint64_t *seed)
{
	rule->limits = dice_one_in(seed, 4) ? 2 : 1;
	rule->cost_most = RL_CAPACITY_MAX;
	for (unsigned i = 0; i < rule->limits; i++) {
		struct world_limit *l = &rule->limit[i];
		l->limit = choose_limit(seed);
		if (w->is_address)
			l->limit.prefix_v4 = i == 0 ? 32 : 30;
		l->exact = log_limit_of(&l->limit);
		for (unsigned key = 0; key < WORLD_KEYS; key++)
			log_forget(&l->log[key]);
		if (l->exact.capacity < rule->cost_most)
			rule->cost_most = l->exact.capacity;
		if (l->limit.window_ns > w->window_ns)
			w->window_ns = l->limit.window_ns;
	}
}

static void
choose(struct world *w, uint64_t *seed)
{
	static const uint32_t places[] = {8, 8, 24, 36};

	w->is_address = dice_one_in(seed, 3);
	for (unsigned i = 0; i < WORLD_RULES; i++)
		choose_rule(w, &w->rule[i], seed);
	w->options.keys = places[below(seed, 4)];
	if (w->options.on_full == RL_FULL_RESERVE) {
		w->options.cells = 1u << below(seed, 3);
		w->options.reserves = dice_one_in(seed, 4) ? 1 : 0;
	}
	w->options.buffer_ns = (w->window_ns / 4) << (2 * below(seed, 3));
	w->keys = (2 + below(seed, 8)) * w->options.keys / 2 + below(seed, 8);
}

static void
check(int error, const char *what)
{
	if (error < 0)
		errx(2, "%s: %s", what, rl_strerror(error));
}

static void
define(struct world *w, unsigned i)
{
	struct world_rule *rule = &w->rule[i];
	struct rl_rule r = {.name = i == 0 ? "first" : "second", .limit = rule->limit[0].limit};

	if (rule->limits > 1) {
		r.more = &rule->limit[1].limit;
		r.more_count = 1;
	}
	rule->handle = rl_define(w->rl, &r);
	check(rule->handle, "rl_define");
}

void
world_open(struct world *w, uint64_t seed, enum rl_on_full on_full, const char *name)
{
	uint64_t dice = seed;

	w->seed = seed;
	w->window_ns = 0;
	w->options = (struct rl_options){.ring = RING,
	                                 .key_bytes = WORLD_KEY_SIZE,
	                                 .rules = WORLD_RULES,
	                                 .overrides = 1,
	                                 .bans = 1,
	                                 .holders = 1,
	                                 .on_full = on_full};
	choose(w, &dice);
	if (name) {
		check(rl_open(name, &w->options, &w->rl), "rl_open");
		check(rl_unlink(name), "rl_unlink");
	} else {
		check(rl_open_private(&w->options, &w->rl), "rl_open_private");
	}
	for (unsigned i = 0; i < WORLD_RULES; i++)
		define(w, i);
}

static int
tell_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)arg;
	printf("slot or row %" PRIu64 ": %s\n", at, rl_fault_text(fault));
	return 1;
}

int
world_is_damaged(struct world *w, uint64_t now_ns)
{
	struct rl_audit counts;
	int fault = rl_audit(w->rl, tell_fault, NULL, &counts);

	check(fault, "rl_audit");
	rl_sweep_at(w->rl, now_ns + LONG * w->window_ns + w->options.buffer_ns);
	if (fault == 0 && rl_fill(w->rl) > 0) {
		printf("%" PRIu64 " slots stay\n", rl_fill(w->rl));
		fault = 1;
	}
	if (fault)
		world_print(w);
	return fault;
}

void
world_close(struct world *w)
{
	rl_close(w->rl);
}

/* Four addresses are a network, of /30; these are in several of /24 and of /16. */
size_t
world_key(const struct world *w, unsigned key, char text[WORLD_KEY_SIZE])
{
	unsigned net = key / 4;
	int n = w->is_address ? snprintf(text, WORLD_KEY_SIZE, "10.%u.%u.%u", net % 3, net / 3 % 5,
	                                 net / 15 * 4 + key % 4)
	                      : snprintf(text, WORLD_KEY_SIZE, "user:%u", key);

	return (size_t)n;
}

unsigned
world_counted_as(const struct world *w, unsigned limit, unsigned key)
{
	return w->is_address && limit == 1 ? key / 4 : key;
}

void
world_print(const struct world *w)
{
	printf("seed %" PRIu64 ": %u keys, keys=%" PRIu32 " cells=%" PRIu32 " reserves=%" PRIu32
	       ", buffer %" PRIu64 " ns%s\n",
	       w->seed, w->keys, w->options.keys, w->options.cells, w->options.reserves,
	       w->options.buffer_ns, w->is_address ? ", addresses" : "");
	for (unsigned r = 0; r < WORLD_RULES; r++) {
		for (unsigned i = 0; i < w->rule[r].limits; i++) {
			const struct rl_limit *l = &w->rule[r].limit[i].limit;
			printf("  rule %u limit %u: %s%s capacity %" PRIu32 " window %" PRIu64
			       " granularity %" PRIu32 " burst %" PRIu32 "\n",
			       r, i, rl_algorithm_info(l->algorithm)->name, l->hard ? " hard" : "",
			       l->capacity, l->window_ns, l->granularity, l->burst);
		}
	}
}

uint64_t
world_counter(const struct world *w, int counter)
{
	uint64_t sum = 0, counters[RL_COUNTERS];

	for (unsigned i = 0; i < WORLD_RULES; i++) {
		check(rl_stats(w->rl, w->rule[i].handle, counters, RL_COUNTERS), "rl_stats");
		sum += counters[counter];
	}
	return sum;
}
