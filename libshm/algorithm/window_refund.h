/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WINDOW_REFUND_H
#define RL_WINDOW_REFUND_H

#include "algorithm/limiter.h"

/*
 * What was charged to a window in sub-bucket `epoch`, given back there: at once, also if that is
 * closed, and never in another. Why no step can go wrong is in ring.h. `view` is not zero.
 */
enum rl_back_step rl_window_refund(const struct rl_window *window, const struct rl_view *view,
                                   uint64_t epoch, uint32_t cost, struct rl_back *back);

/* After a step RL_BACK_ENTRY, or in the place of one who was killed before. Anyone may do it. */
enum rl_back_step rl_window_sum_up(const struct rl_window *window, const struct rl_view *view,
                                   struct rl_back *back);

#endif
