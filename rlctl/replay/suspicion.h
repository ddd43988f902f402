/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_SUSPICION_H
#define RLCTL_REPLAY_SUSPICION_H

/* Signs that the lines mean something else than was understood. */

#include "replay/report.h"

/* Add warnings to the report, and tell them. */
void suspect(struct report_of *report);
void suspect_free(struct report_of *report);

#endif
