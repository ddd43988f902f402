/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DENIALS_H
#define RL_DENIALS_H

/*
 * How often each limit has said no. A denial adds to one word: in its rule's statistics of this
 * CPU, that of the limit's index. What a rule has denied is the sum of these, of its bans, and of
 * what it denied for another reason; so they never go down, whatever becomes of the limits.
 *
 * Another limit may have had the index before. A limit's row says from where on the words of which
 * index are its own, in one word for denials and one for those of a shadow:
 *
 *	known:1 | index:3 | rule:10 | from:50              from lowest, known highest; 0: nothing is
 *	                                                   its own yet
 *
 *	what it denied = sum over the stripes of the words of `index` - from          modulo 2^50
 *
 * Whoever reads a policy, and so anybody who is about to count by it, sees to it that the word
 * names the index that the limit has there. If it is another, what the limit has denied so far is
 * taken along: from = the sum of the new index - that. What is denied meanwhile by the old order
 * may be another limit's. A limit that starts anew has 0 there. Where a process was killed before
 * that, it goes on from what it had.
 */

#include "rule/handle.h"

/* The limit in that row is the one of that index of a rule in force. */
void rl_denials_begin(const struct rl_segment *s, int rule, struct rl_limit_row *row,
                      unsigned index);

/* The limit in that row starts anew. */
void rl_denials_clear(struct rl_limit_row *row);

/* What the limit in that row has denied, and what it would have as a shadow. */
void rl_denials_of_limit(const struct rl_segment *s, int rule, const struct rl_limit_row *row,
                         uint64_t *denied, uint64_t *shadow_denied);

#endif
