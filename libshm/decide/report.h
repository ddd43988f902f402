/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REPORT_H
#define RL_REPORT_H

/* Events of requests, see segment/event.h. */

#include "decide/part.h"
#include "rl_admin.h"

/* The key of a request as people see it; `text` is room for a network. */
const void *rl_part_name(const struct rl_part *p, char text[RL_NETWORK_TEXT_MAX], size_t *len);

/* There was no room for a request's key. */
void rl_report_full(const struct rl_part *p);

#endif
