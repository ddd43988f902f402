/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_APACHE_ROUND_H
#define RL_APACHE_ROUND_H

/*
 * One decision: the limits of a section that a visit has not met yet, asked at once, all or
 * nothing.
 *
 *	collect   which limits apply, and with which key, cost and capacity
 *	ask       rl_check_all(); who cannot be decided is left out, and the others are asked
 *	          again, so that one bad key switches no other limit off
 *	settle    charges are kept, the client is banned, the request delayed, refused or let
 *	          through
 */

#include "visit.h"

struct round {
	request_rec *r;
	struct visit *visit;
	const struct section *section;
	struct store *store; /* NULL: none, and `error` says why */
	int error;
	int is_failed;              /* some limit could not be decided */
	const struct rule *refuses; /* the rule of a limit with empty=deny and an empty key */
	uint64_t delay_ns;
	int judged, decided; /* how many the visit had before */
	size_t count;
	struct rl_item items[RL_ITEMS_MAX]; /* these three: the first `count` */
	struct decided *asked[RL_ITEMS_MAX];
	struct rl_result results[RL_ITEMS_MAX];
};

static inline int
has_block(const struct section *section)
{
	return section->block && section->block != &no_block;
}

/* collect.c. `is_last`: limits that are `late`, too. */
void collect(struct round *round, int is_last);

/* The key of the block, or NULL after fail(). */
const char *block_key(struct round *round, const struct block *block);

/*
 * A limit could not be decided: for logs, notes and RLOnError. Without a text it is what the error
 * means.
 */
void fail(struct round *round, const struct rule *rule, const char *where, int error,
          const char *text);

#endif
