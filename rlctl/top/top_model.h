/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_MODEL_H
#define RLCTL_TOP_MODEL_H

/*
 * What top shows, without a screen: the rates of every rule in the last sample, its last hour as
 * the segment has it, and the keys that come first. A sample of the counters costs next to nothing.
 * A look at all keys reads the whole table, so that it is taken at most a fifth of the time.
 */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/counts.h"
#include "base/overflow_view.h"
#include "key/ranking.h"

#define TOP_KEYS_MAX 200 /* that can be selected */

struct top_rule {
	int id;
	char name[RL_NAME_MAX + 1];
	uint64_t allowed; /* in the last sample */
	uint64_t denied;
	struct rl_history_span minute[RL_HISTORY_MINUTES]; /* its last hour */
};

struct top_model {
	struct rl *rl;
	struct rl_info info;
	uint64_t fill;
	uint64_t bans;
	uint64_t now_ns;  /* of the newest sample */
	uint64_t span_ns; /* that it covers */

	struct counts before;
	struct top_rule *rules;
	size_t rule_count;

	struct ranking keys; /* order and match are the caller's to set */
	struct overflow_view reserve;
	uint64_t next_look_ns;
};

void top_model_open(struct top_model *model, struct rl *rl);
void top_model_free(struct top_model *model);

/* Take a sample, and look at the keys if it is time for that. */
void top_model_sample(struct top_model *model);

/* Look at the keys. */
void top_model_look(struct top_model *model);

/* Forget the time since the last sample, in which nobody looked. */
void top_model_skip(struct top_model *model);

#endif
