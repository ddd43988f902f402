/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_TALLY_H
#define RLCTL_REPLAY_TALLY_H

/* Sums of verdicts. */

#include "replay/candidate.h"
#include "replay/events.h"

/* Count a verdict; true if it is a denial. */
bool tally_count(struct candidate *candidate, const struct event *event,
                 const struct rl_result *result);

/* Spans of denials that last to the end are over. */
void tally_finish(struct candidate *candidate);

/* The key's denials; NULL if there are none. */
const struct denied_key *tally_of(const struct candidate *candidate, uint32_t key);

#endif
