/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHARE_BUCKET_H
#define RL_SHARE_BUCKET_H

/*
 * A token or leaky bucket of which a host has a part that changes. Pure: no clock, no memory.
 *
 * The bucket of all hosts holds B tokens and fills in F = window * B / capacity. What a host is
 * lent are tokens of B: with e of them it has a bucket of e tokens that fills in F as well,
 * whatever e is. So a token takes T(e) = F / e to come, and what the host owes is told by the time
 * at which its bucket is full, tat:
 *
 *	debt           x = (tat - now) / T(e)
 *	is admitted    iff  max(tat, now) - now + c * T(e) <= e * T(e)
 *
 * When e changes, the debt in tokens stays, and tat moves:
 *
 *	tat' = tat <= now ? tat : now + ceil((tat - now) * T(e') / T(e))
 *
 * in the same CAS16 as the change, with a clock that was read before it, and for a raise after the
 * answer came. Then the sum of all hosts' debts is not changed by a change; an admission of c
 * raises it by c; it falls by B in F at most, as T(e) >= F / e and the sum of all e is at most B +
 * N * blind. No debt is above its e. So in a span d all hosts admit at most (B + N * blind) * (1 +
 * d / F).
 *
 * Everything is in parts of 1/256 ns, and T(e) is rounded up to a whole number of these: e tokens
 * are there exactly when e * T(e) has passed, and all that is not exact errs to deny. The word says
 * which e its tat is of (`scale`), so whoever reads it under another e - a share that was changed,
 * a lease that is over, another blind - converts by the same rule, and nobody has to convert for
 * him.
 *
 *	hi   63            36 35      28 27         12 11       0
 *	    +----------------+----------+-------------+----------+
 *	    |    scale:28    | part:8   |  share:16   |  slot    |      part: of tat, 1/256 ns
 *	    +----------------+----------+-------------+----------+
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout.h"

/* A bucket of all hosts. */
struct rl_share_bucket {
	uint64_t fill; /* F, in 1/256 ns, rounded up; at most 2^58 */
	uint32_t size; /* B: what was asked for, or what fills in RL_SHARE_FILL_MAX */
};

/* How many tokens it has. */
uint32_t rl_share_bucket_size(uint64_t window_ns, uint32_t capacity, uint32_t size);

struct rl_share_bucket rl_share_bucket_of(uint64_t window_ns, uint32_t capacity, uint32_t size);

/* A host's, at a time: what it has of it, and what it owes. */
struct rl_share_level {
	uint32_t tokens; /* e, at least 1 */
	uint64_t step;   /* T(e), 1/256 ns */
	uint64_t behind; /* tat - now under that e, 1/256 ns; 0 if it is full */
};

/*
 * What a word says under `tokens` (0 is as 1) at now_ns. A word of lo = 0 and hi = 0 above the
 * slot: full.
 */
struct rl_share_level rl_share_level_of(const struct rl_share_bucket *bucket, struct rl_u128 word,
                                        uint32_t tokens, uint64_t now_ns);

/* Its word; `bits` are the slot's and the share's. */
struct rl_u128 rl_share_level_word(const struct rl_share_level *level, uint64_t now_ns,
                                   uint64_t bits);

/* The debt in tokens, rounded up. */
uint32_t rl_share_level_load(const struct rl_share_level *level);

/* Tokens there now. */
uint32_t rl_share_level_left(const struct rl_share_level *level);

/* Charge; false, and nothing is changed, if it has to wait. */
bool rl_share_level_take(struct rl_share_level *level, uint32_t cost);

/* How long until `cost` <= tokens is admitted, and until the bucket is full; rounded up. */
uint64_t rl_share_level_wait(const struct rl_share_level *level, uint32_t cost);
uint64_t rl_share_level_full_in(const struct rl_share_level *level);

/* How long the queue ahead takes, but for `undelayed` of it; rounded up. */
uint64_t rl_share_level_delay(const struct rl_share_level *level, uint32_t undelayed);

/* Give back what was charged; false: so much is not owed. */
bool rl_share_level_give(struct rl_share_level *level, uint32_t cost);

/* Under which number of tokens a word's time is. */
uint32_t rl_share_bucket_scale(struct rl_u128 word);

/*
 * What a charge that left `word` remembers of it beside lo: a word that has both was not changed
 * since.
 */
uint32_t rl_share_bucket_memory(struct rl_u128 word);

#endif
