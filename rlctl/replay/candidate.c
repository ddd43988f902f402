/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/candidate.h"

#include <stdlib.h>

size_t
candidate_limits(const struct candidate *candidate)
{
	return config_limit_count(&candidate->rule->rule);
}

const struct rl_limit *
candidate_limit(const struct candidate *candidate, size_t i)
{
	return config_limit(&candidate->rule->rule, i);
}

void
candidate_free(struct candidate *candidate)
{
	config_free(candidate->config);
	free(candidate->label_own);
	free(candidate->record);
	free(candidate->keys);
}
