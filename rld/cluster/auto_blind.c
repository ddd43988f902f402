/* SPDX-License-Identifier: BSD-2-Clause */
#include "auto_blind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

#define EVERY (10 * RL_SECOND)
#define RETRY RL_SECOND

/* How long what a limit admits counts, and an eighth; a bucket's until it is full. */
static uint64_t
hold_of(const struct rl_limit *limit)
{
	uint64_t ns = limit->window_ns;

	if (limit->burst > limit->capacity)
		ns = ns / limit->capacity * limit->burst;
	return ns < RL_BLIND_AUTO_MAX ? ns + ns / 8 : BLIND_HOLD_MAX_NS;
}

/* The longest of all; 0: none is automatic. */
static uint64_t
longest_hold(struct rl *rl)
{
	struct rl_rule_info rule;
	struct rl_info info;
	uint64_t longest = 0;

	rl_info(rl, &info);
	for (uint32_t row = 0; row < info.rules; row++) {
		if (rl_rule_info(rl, (int)row, &rule) != 1)
			continue;
		for (unsigned i = 0; i < rule.limit_count; i++) {
			const struct rl_limit *limit = &rule.limits[i];
			uint64_t hold =
				limit->scope == RL_SCOPE_CLUSTER && limit->blind == RL_BLIND_AUTO
					? hold_of(limit)
					: 0;

			longest = hold > longest ? hold : longest;
		}
	}
	return longest;
}

/* A daemon that was there before has left in the segment what is in force. */
static void
begin(struct auto_blind *a)
{
	struct rl_cluster_info info = {0};
	uint64_t segment_ns = rl_now(a->rl);

	rl_cluster_info(a->rl, &info);
	blind_begin(&a->blind,
	            info.blind_hosts > 0 ? (unsigned)__builtin_ctzll(info.blind_hosts) : 0,
	            info.blind_until_ns, segment_ns);
	a->is_begun = true;
}

static void
take_entries(void *arg, uint64_t asked_ns, const struct store_value *v, uint64_t now_ns)
{
	struct auto_blind *a = arg;
	int64_t age_ms = store_integer(store_item(v, 3), -1);
	struct blind_entries e = {
		.count = (uint64_t)store_integer(store_item(v, 0), 0),
		.is_known = store_integer(store_item(v, 1), 0) != 0,
		.least_step = (uint64_t)store_integer(store_item(v, 2), 0),
		.least_ns = age_ms < 0 ? UINT64_MAX : (uint64_t)age_ms * RL_MILLISECOND,
	};

	if (!v || v->type != STORE_ARRAY || v->count != 4 || e.count == 0 ||
	    e.least_step > BLIND_STEP_MAX) {
		a->due_ns = now_ns + RETRY;
		return;
	}
	if (blind_announced(&a->blind, &e, a->hold_ns, asked_ns, rl_now(a->rl)))
		a->due_ns = now_ns;
	rl_cluster_blind(a->rl, UINT64_C(1) << a->blind.step, a->blind.until_ns);
}

static void
ask(struct auto_blind *a, uint64_t now_ns)
{
	uint64_t segment_ns = rl_now(a->rl);
	char keep[24], step[24], age[24];
	const char *argv[] = {"EVALSHA",
	                      store_script(a->store, SCRIPT_BLIND),
	                      "1",
	                      SCRIPT_BLIND_HOSTS,
	                      a->identity->text,
	                      keep,
	                      step,
	                      age};
	const struct store_question q = {.key = SCRIPT_BLIND_HOSTS,
	                                 .key_size = strlen(SCRIPT_BLIND_HOSTS),
	                                 .argc = 8,
	                                 .argv = argv,
	                                 .answer = take_entries,
	                                 .arg = a,
	                                 .label = segment_ns};

	snprintf(keep, sizeof keep, "%" PRIu64, (BLIND_LIFE_NS + a->hold_ns) / RL_MILLISECOND + 1);
	snprintf(step, sizeof step, "%u", a->blind.step);
	snprintf(age, sizeof age, "%" PRIu64, blind_age(&a->blind, segment_ns) / RL_MILLISECOND);
	a->due_ns = now_ns + (store_ask(a->store, &q, now_ns) < 0 ? RETRY / 10 : EVERY);
}

void
auto_blind_run(struct auto_blind *a, uint64_t now_ns)
{
	if (now_ns < a->due_ns)
		return;
	a->hold_ns = longest_hold(a->rl);
	a->due_ns = now_ns + RETRY;
	if (a->hold_ns == 0)
		return;
	if (!a->is_begun)
		begin(a);
	ask(a, now_ns);
}
