/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ANSWERED_H
#define RL_ANSWERED_H

/*
 * A request has been decided: what is counted of it, kept of its key and told of it, and whether
 * its key is banned for it. All of that is here, once for each request.
 */

#include "decide/part.h"
#include "segment/record.h"
#include "segment/stats.h"

/*
 * A limit has said no to a key for the first time in a while: an event of it, if it is time for
 * one.
 */
void rl_answered_report(const struct rl_part *p, uint64_t retry_ns);

/* A limit's own denial of an item's key, which its part has answered. */
void rl_answered_denied(const struct rl_part *p, const void *key, size_t key_len);

/* A key that no counter was asked about has that answer; `hash` is the key's. */
void rl_answered_without_counter(const struct rl_segment *s, int rule, const void *key,
                                 size_t key_len, uint64_t hash, uint64_t now_ns,
                                 const struct rl_result *result);

/*
 * An item whose answer is *result; `decider`, if not NULL, is the part that decided it. It may have
 * been charged by `count` parts.
 */
void rl_answered(struct rl *rl, int rule, const struct rl_item *item, const struct rl_part *parts,
                 unsigned count, const struct rl_part *decider, struct rl_result *result,
                 uint64_t now_ns);

#endif
