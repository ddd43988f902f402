/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CANDIDATE_H
#define RLCTL_CANDIDATE_H

/* A rule that is tried, and what it would have done. */

#include <model/config.h>

#include "replay/chart.h"

#define CANDIDATES_MAX 8

/* A key that was denied. A span of denials lasts from the first of them to the next request that is
 * admitted, or to the last of them. */
struct denied_key {
	uint32_t key;
	uint32_t denied;
	uint64_t since_ns, last_ns; /* of the span that lasts; both RL_NEVER_NS if none does */
	uint64_t denied_ns;         /* of all spans that are over */
};

struct candidate {
	const char *label;
	char *label_own;       /* the same, where it is not part of the command line */
	struct config *config; /* which the rule is part of */
	const struct rl_config_rule *rule;

	/* while it decides */
	struct rl *rl;
	int id;
	uint64_t start_ns; /* what its clock says at the time from which windows start */

	/* outcome */
	uint64_t admitted, denied, undecided; /* undecided: no IP address, as the rule wants it */
	uint64_t keys_denied;
	uint64_t banned, exempt, shadow_denied; /* part of denied, of admitted, of admitted */
	uint64_t denied_by[RL_LIMITS_MAX];
	uint64_t delayed, delay_ns, delay_most_ns;
	uint64_t denied_more, denied_less; /* here and not by the first; by that and not here */
	uint64_t settle_charged, settle_given, settle_debt, settle_late; /* of --actual */
	uint64_t table_bytes;
	uint32_t *record; /* by key: its place among those denied, from 1; 0 none */
	struct denied_key *keys;
	size_t key_room;
	struct chart chart;
};

size_t candidate_limits(const struct candidate *candidate);
const struct rl_limit *candidate_limit(const struct candidate *candidate, size_t i);

void candidate_free(struct candidate *candidate);

#endif
