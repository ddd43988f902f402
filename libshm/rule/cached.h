/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CACHED_H
#define RL_CACHED_H

/*
 * What a process keeps of rules. A limit's shape may depend on the length of a table's ring, and on
 * nothing else of it: so there is one struct rl_cached for each length that a handle has met.
 */
#include "rule/handle.h"

/* Have rl->limits and rl->policies for the ring of rl->segment. 0 or -ENOMEM. Any thread. */
int rl_cached_get(struct rl *rl);

/* Undo that for all of a handle. */
void rl_cached_free(struct rl_handle *handle);

/*
 * May the handle keep so many bytes more, for tables that it follows to? Damage must not fill the
 * memory. Who keeps them adds them to handle->followed: what was tried and came to nothing takes
 * none.
 */
bool rl_cached_may_be(struct rl_handle *handle, uint64_t bytes);

#endif
