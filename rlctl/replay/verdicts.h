/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_VERDICTS_H
#define RLCTL_REPLAY_VERDICTS_H

/*
 * --verdicts: a line for each request, its columns parted by tabs:
 *
 *	1995-08-01T04:00:01.000000000Z  199.72.81.55  denied  1  0
 *
 * time, key, and for each candidate its verdict (allowed, denied, never, undecided), what said no
 * (the number of the limit, "ban", or "-"), and the seconds to wait.
 */

#include <rl_admin.h>

#include "replay/events.h"

void verdicts_write(const struct event *event, const struct name *name,
                    const struct rl_result *results, size_t count);

#endif
