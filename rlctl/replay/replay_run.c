/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl_admin.h>

#include "base/output.h"
#include "base/progress.h"
#include "replay/replay_run.h"

#define KEYS_MAX 750000000     /* half of what a segment can be asked to hold */
#define KEYS_MIN 512           /* a small table is not worth its odds of two full lines */
#define PROGRESS_STEPS 0xfffff /* told whenever these bits of the request's number are 0 */

/* Twice the keys leave each one a place; nothing else of the segment is of use here. */
static struct rl *
open_for(const struct replay *replay)
{
	const struct events *events = &replay->events;
	struct rl_options options = {
		.keys = 2 * (uint32_t)events->key_count + KEYS_MIN,
		.ring = replay->limit.algorithm == RL_SLIDING_LOG ? 2 * replay->limit.capacity
	                                                          : replay->limit.granularity,
		.key_bytes = 1,
		.rules = 1,
		.on_full = RL_FULL_DENY,
	};
	struct rl *rl;
	int error;

	if (events->key_count > KEYS_MAX - KEYS_MIN) {
		complain("%zu keys are too many", events->key_count);
		return NULL;
	}
	error = rl_open_private(&options, &rl);
	if (error == 0)
		return rl;
	complain("a segment for %zu keys: %s", events->key_count, rl_strerror(error));
	return NULL;
}

static int
define(const struct replay *replay, struct rl *rl)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "replay", .limit = replay->limit});

	if (rule < 0)
		complain("the limit: %s", rl_strerror(rule));
	return rule;
}

static uint64_t
clock_of(const struct replay *replay, uint64_t time_ns)
{
	uint64_t start_ns = replay->is_from_first ? replay->events.start_ns : 0;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void
count(struct replay *replay, struct replay_key *key, uint64_t time_ns, bool is_denied)
{
	chart_count(&replay->chart, time_ns, is_denied);
	if (!is_denied) {
		replay->admitted++;
		return;
	}
	replay->denied++;
	if (key->denied++ == 0)
		replay->keys_denied++;
}

/* Every request costs 1 and has a place, so anything but yes and no is trouble. */
static bool
decide(struct replay *replay, struct rl *rl, int rule, size_t event)
{
	uint64_t time_ns = replay->events.time_ns[event];
	struct replay_key *key = replay->events.keys[replay->events.key[event]];
	struct rl_result result;
	enum rl_verdict verdict =
		rl_check_at(rl, rule, key->bytes, key->len, 1, clock_of(replay, time_ns), &result);

	if (result.error != 0 || (verdict != RL_ALLOWED && verdict != RL_DENIED)) {
		progress_erase();
		complain("request %zu got no decision: %s", event + 1, rl_strerror(result.error));
		return false;
	}
	count(replay, key, time_ns, verdict == RL_DENIED);
	return true;
}

static bool
decide_all(struct replay *replay, struct rl *rl, int rule)
{
	for (size_t i = 0; i < replay->events.count; i++) {
		if (i > 0 && (i & PROGRESS_STEPS) == 0)
			progress_show("deciding, per cent:", i * 100 / replay->events.count);
		if (!decide(replay, rl, rule, i))
			return false;
	}
	progress_erase();
	return true;
}

/* A key that ever lacked a place has answers that are not the limit's. */
static bool
check_places(const struct rl *rl, int rule)
{
	static const enum rl_counter full[] = {RL_COUNT_evicted, RL_COUNT_full_denied,
	                                       RL_COUNT_full_allowed, RL_COUNT_full_undecided};
	uint64_t counters[RL_COUNTERS];

	rl_stats(rl, rule, counters, RL_COUNTERS);
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
		if (counters[full[i]] == 0)
			continue;
		complain("the table was full: %s %" PRIu64, rl_counter_info((int)full[i])->name,
		         counters[full[i]]);
		return false;
	}
	return true;
}

static bool
run_in(struct replay *replay, struct rl *rl)
{
	int rule = define(replay, rl);

	return rule >= 0 && decide_all(replay, rl, rule) && check_places(rl, rule);
}

bool
replay_run(struct replay *replay)
{
	struct rl *rl = open_for(replay);
	bool is_decided;

	if (!rl)
		return false;
	if (replay->events.count > 0)
		replay->chart = chart_make(replay->events.first_ns, replay->events.last_ns);
	is_decided = run_in(replay, rl);
	rl_close(rl);
	return is_decided;
}
