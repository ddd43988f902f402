/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REPORT_H
#define RL_REPORT_H

/* Events of requests, see segment/event.h. */

#include "decide/part.h"
#include "rl_admin.h"

/* The key of a request as people see it; `text` is room for a network. */
const void *rl_part_name(const struct rl_part *p, char text[RL_NETWORK_TEXT_MAX], size_t *len);

/* A key without a slot: banned, or there was no room. */
void rl_report_without(const struct rl_segment *s, enum rl_event_kind kind, int rule,
                       const void *key, size_t key_len, uint64_t retry_ns, uint64_t now_ns);

/* There was no room for a request's key. */
void rl_report_full(const struct rl_part *p);

#endif
