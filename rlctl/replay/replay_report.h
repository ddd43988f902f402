/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_REPORT_H
#define RLCTL_REPLAY_REPORT_H

#include "replay/replay_run.h"

/* Write the outcome, with at most `top` of the most limited keys. Reorders the keys. */
void replay_report(struct replay *replay, size_t top, bool is_json);

#endif
