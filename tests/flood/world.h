/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FLOOD_WORLD_H
#define RL_FLOOD_WORLD_H

/*
 * A tiny segment that is full, its rules, and the exact log of each key under each limit: two rules
 * of one or two limits each, which compete for the same places. All is chosen by chance, from a
 * seed.
 */

#include "log.h"
#include "rl.h"

#define WORLD_RULES 2
#define WORLD_LIMITS 2 /* of a rule, at most */
#define WORLD_KEYS 256 /* at most */
#define WORLD_KEY_SIZE 24

/*
 * When virtual time begins: 2096. It is to be later than the machine's clock, which rl_reset()
 * reads: else what was reset would be ahead of all others for years.
 */
#define WORLD_START_NS (UINT64_C(4000000000) * RL_SECOND)

/* One limit and what it has admitted. */
struct world_limit {
	struct rl_limit limit;
	struct log_limit exact;
	struct log log[WORLD_KEYS];
};

struct world_rule {
	int handle;
	unsigned limits;
	struct world_limit limit[WORLD_LIMITS];
	uint64_t cost_most; /* that each of them admits */
};

struct world {
	struct rl *rl;
	struct world_rule rule[WORLD_RULES];
	struct rl_options options;
	uint64_t window_ns; /* the longest */
	unsigned keys;
	int is_address; /* keys are addresses, and the second limit counts networks of four */
	uint64_t seed;
};

/* The words of the options of the programs here. -1: none of them. */
int world_on_full(const char *word);

/*
 * Choose all of it by `seed`. With a name the segment is one that processes share, already without
 * that name; without one it is private. Ends the program with exit code 2 when the library refuses.
 */
void world_open(struct world *w, uint64_t seed, enum rl_on_full on_full, const char *name);

/*
 * Once nobody asks any more: 0, or what is wrong with the segment, told once. Nothing may stay of
 * it when all windows are over.
 */
int world_is_damaged(struct world *w, uint64_t now_ns);

void world_close(struct world *w);

/* The key with this number, and its length. */
size_t world_key(const struct world *w, unsigned key, char text[WORLD_KEY_SIZE]);

/* Where limit number `limit` counts it. */
unsigned world_counted_as(const struct world *w, unsigned limit, unsigned key);

/* Its limits for people. */
void world_print(const struct world *w);

/* A counter, of both rules together. */
uint64_t world_counter(const struct world *w, int counter);

#endif
