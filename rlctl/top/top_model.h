/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_MODEL_H
#define RLCTL_TOP_MODEL_H

/*
 * What top shows, without a screen: the rates of every rule over the last samples, and the keys
 * that come first. A sample of the counters costs next to nothing. A look at all keys reads the
 * whole table, so that it is taken at most a fifth of the time.
 */

#include <rl.h>
#include <stdbool.h>

#include "base/counts.h"
#include "key/ranking.h"

#define TOP_SAMPLES 240  /* at one a second, four minutes */
#define TOP_KEYS_MAX 200 /* that can be selected */

struct top_rule {
	int id;
	char name[RL_NAME_MAX + 1];
	uint64_t allowed[TOP_SAMPLES]; /* in each sample, as a ring */
	uint64_t denied[TOP_SAMPLES];
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
	size_t samples; /* taken so far; the newest is at (samples - 1) % TOP_SAMPLES */

	struct ranking keys; /* order and match are the caller's to set */
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

/* Newest sample of a ring. */
uint64_t top_newest(const struct top_model *model, const uint64_t ring[TOP_SAMPLES]);

/* The samples of a ring as `width` sums of equal time, oldest first. */
void top_columns(const struct top_model *model, const uint64_t ring[TOP_SAMPLES], size_t width,
                 uint64_t *columns);

#endif
