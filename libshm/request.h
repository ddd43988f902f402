/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REQUEST_H
#define RL_REQUEST_H

/* From what a caller asks to a request that can be decided, and what is counted of it. */

#include "decision.h"

/*
 * Check the item, look up its rule and quota, and start to fetch where its key may live. False
 * if it is answered already, in *result: an error, or an empty key.
 */
bool rl_request_make(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                     struct rl_request *rq, struct rl_result *result);

/* What a request of that cost would be told; cost 0 asks for 1. Writes nothing, counts nothing. */
enum rl_verdict rl_request_look(struct rl_request *rq, uint64_t cost, struct rl_result *result);

/* Decide, charge and count it. */
enum rl_verdict rl_request_spend(struct rl_request *rq, uint64_t cost, struct rl_result *result);

/* Count a verdict that was reached without spending. */
void rl_request_count(struct rl *rl, int rule, enum rl_verdict verdict);

/* rl_check_item_at() from where rl_request_make() left it: `is_open` is what that said. */
enum rl_verdict rl_request_finish(struct rl_request *rq, bool is_open, uint64_t cost,
                                  struct rl_result *result);

#endif
