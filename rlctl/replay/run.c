/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/run.h"

#include <inttypes.h>
#include <model/limit.h>
#include <rl_admin.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/output.h"
#include "base/progress.h"
#include "replay/tally.h"
#include "replay/verdicts.h"
#include "text/error_text.h"

#define SPARE 512              /* keys: a small table is not worth its odds of two full lines */
#define PROGRESS_STEPS 0xfffff /* told whenever these bits of the request's number are 0 */
#define TABLE_KEYS_MAX 1500000000

/* Ring entries that any limit, or any key's own capacity, takes. */
static uint32_t
ring_of(const struct candidate *candidate)
{
	const struct rl_config_rule *rule = candidate->rule;
	uint32_t most = 1;

	for (size_t i = 0; i < candidate_limits(candidate); i++) {
		struct rl_limit limit = *candidate_limit(candidate, i);

		for (size_t j = 0; j < rule->override_count; j++)
			if (rule->overrides[j].capacity[i] > limit.capacity)
				limit.capacity = rule->overrides[j].capacity[i];
		if (limit_entries(&limit) > most)
			most = limit_entries(&limit);
	}
	return most;
}

/* Twice the keys leave each one a place; nothing else of the segment is of use here. */
static int
open_table(struct candidate *candidate, size_t keys)
{
	size_t limits = candidate_limits(candidate);
	uint64_t places = 2 * (uint64_t)keys * limits + SPARE;
	struct rl_options options = {
		.keys = (uint32_t)places,
		.ring = ring_of(candidate),
		.key_bytes = 1,
		.rules = 1,
		.overrides = (uint32_t)(candidate->rule->override_count * limits + 1),
		.bans = 1,
		.on_full = RL_FULL_DENY,
	};
	struct rl_info info;
	int error = places > TABLE_KEYS_MAX ? -EINVAL : rl_open_private(&options, &candidate->rl);

	if (error < 0)
		return error;
	rl_info(candidate->rl, &info);
	candidate->table_bytes = info.bytes;
	return 0;
}

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	while (b > 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * To the library, a time of 0 is now. So a candidate's clock begins later, at a time at which a
 * sub-bucket of each of its limits begins: windows start where they did. Where that is too late,
 * they start a nanosecond early.
 */
static uint64_t
start_of(const struct candidate *candidate)
{
	uint64_t start_ns = 1;

	for (size_t i = 0; i < candidate_limits(candidate); i++) {
		const struct rl_limit *limit = candidate_limit(candidate, i);
		uint64_t parts = limit->granularity > 0 ? limit->granularity : 1;
		uint64_t width_ns = limit->window_ns / parts + (limit->window_ns % parts > 0);

		if (limit->window_ns == 0 || limit->window_ns == RL_NEVER_NS)
			continue;
		if (__builtin_mul_overflow(start_ns / common_divisor(start_ns, width_ns), width_ns,
		                           &start_ns) ||
		    start_ns > RL_WINDOW_MAX)
			return 1;
	}
	return start_ns;
}

static bool
configure(struct candidate *candidate)
{
	struct rl_config_outcome outcome;
	int error = rl_configure(candidate->rl, candidate->rule, 1, 0, NULL, &outcome);

	candidate->id = error < 0 ? error : rl_find(candidate->rl, candidate->rule->rule.name);
	if (candidate->id < 0)
		complain("%s: %s", candidate->label, error_text(candidate->id).text);
	candidate->start_ns = start_of(candidate);
	return candidate->id >= 0;
}

void
run_end(struct run *run)
{
	for (size_t i = 0; i < run->candidate_count; i++) {
		rl_close(run->candidates[i].rl);
		run->candidates[i].rl = NULL;
	}
}

/* Tables for so many keys. False after a message, unless they are only too large. */
static bool
open_tables(struct run *run, size_t keys, bool may_split, bool *is_too_large)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < run->candidate_count; i++) {
		struct candidate *candidate = &run->candidates[i];
		int error = open_table(candidate, keys);

		bytes += error < 0 ? 0 : candidate->table_bytes;
		*is_too_large = may_split && keys > 1 && (error < 0 || bytes > TABLE_BYTES_MAX);
		if (*is_too_large)
			return false;
		if (error < 0)
			complain("%s: a table for %zu keys: %s", candidate->label, keys,
			         error_text(error).text);
		if (error < 0 || !configure(candidate))
			return false;
	}
	return true;
}

static bool
may_split(const struct run *run)
{
	if (run->wants_verdicts)
		return false;
	for (size_t i = 0; i < run->candidate_count; i++)
		if (candidate_limit(&run->candidates[i], 0)->prefix_v4 ||
		    candidate_limit(&run->candidates[i], 0)->prefix_v6)
			return false;
	return true;
}

static uint64_t
clock_of(const struct run *run, uint64_t time_ns)
{
	uint64_t start_ns = run->is_from_first ? run->events->start_ns : 0;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

static bool
complain_undecided(const struct run *run, const struct candidate *candidate,
                   const struct event *event, const struct rl_result *result)
{
	const struct name *name = names_at(&run->events->names, event->key);
	bool is_trouble = result->error != RL_EADDRESS;
	char *key;

	if (!is_trouble && candidate->undecided > 0)
		return true;
	key = escape(name->bytes, name->len);
	progress_erase();
	complain("%s: no decision about '%s': %s", candidate->label, key,
	         error_text(result->error).text);
	free(key);
	return !is_trouble;
}

/* To the library, no cost is no request: it tells what one would be told. Here it goes. */
static void
ask(const struct candidate *candidate, const struct name *name, uint32_t cost, uint64_t now_ns,
    struct rl_charges *charges, struct rl_result *result)
{
	struct rl_item item = {
		.rule = candidate->id,
		.key = name->bytes,
		.key_len = name->len,
		.cost = cost,
		.now_ns = candidate->start_ns + now_ns,
		.charges = charges,
	};

	if (charges)
		charges->count = 0;
	*result = (struct rl_result){.verdict = RL_ALLOWED};
	if (cost > 0)
		rl_check_item(candidate->rl, &item, result);
}

/* Every key has a place, so anything but yes and no is trouble, but for keys that are no
 * addresses, of which the first is told. */
static bool
decide(struct run *run, const struct event *event)
{
	const struct name *name = names_at(&run->events->names, event->key);
	uint64_t now_ns = clock_of(run, event->time_ns);
	struct spending spending = events_spending(run->events, event);
	bool is_settled = spending.actual != ACTUAL_UNKNOWN;
	uint32_t place = is_settled ? settling_place(&run->settling) : 0;
	struct rl_result results[CANDIDATES_MAX];
	bool first = false;

	if (!settling_until(&run->settling, now_ns))
		return false;
	for (size_t i = 0; i < run->candidate_count; i++) {
		struct candidate *candidate = &run->candidates[i];
		bool is_denied;

		ask(candidate, name, spending.estimate, now_ns,
		    is_settled ? settling_charges(&run->settling, place, i) : NULL, &results[i]);
		if (results[i].error != 0 &&
		    !complain_undecided(run, candidate, event, &results[i]))
			return false;
		is_denied = tally_count(candidate, event, &results[i]);
		first = i == 0 ? is_denied : first;
		candidate->denied_more += is_denied && !first;
		candidate->denied_less += first && !is_denied;
	}
	if (is_settled)
		settling_add(&run->settling, place, now_ns + spending.lasts_ns, spending.actual);
	if (run->wants_verdicts && event >= run->events->at + run->reported)
		verdicts_write(event, name, results, run->candidate_count);
	return true;
}

static bool
decide_group(struct run *run, size_t first, size_t keys)
{
	const struct events *events = run->events;

	for (size_t i = 0; i < events->count; i++) {
		if (i > 0 && (i & PROGRESS_STEPS) == 0)
			progress_show("deciding, request", i);
		if (events->at[i].key - first < keys && !decide(run, &events->at[i]))
			return false;
	}
	return true;
}

/* Take in what was settled. A key that ever lacked a place has answers that are not the limit's. */
static bool
check_places(struct candidate *candidate)
{
	static const enum rl_counter full[] = {RL_COUNT_full_denied, RL_COUNT_full_allowed,
	                                       RL_COUNT_full_undecided};
	uint64_t counters[RL_COUNTERS];

	rl_stats(candidate->rl, candidate->id, counters, RL_COUNTERS);
	candidate->settle_charged += counters[RL_COUNT_settle_charged];
	candidate->settle_given += counters[RL_COUNT_settle_given];
	candidate->settle_debt += counters[RL_COUNT_settle_debt];
	candidate->settle_late += counters[RL_COUNT_settle_late];
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
check_all_places(const struct run *run)
{
	for (size_t i = 0; i < run->candidate_count; i++)
		if (!check_places(&run->candidates[i]))
			return false;
	return true;
}

/* Half the keys until the tables fit. */
static bool
open_fitting(struct run *run, size_t *keys)
{
	bool is_too_large;

	while (!open_tables(run, *keys, may_split(run), &is_too_large)) {
		run_end(run);
		if (!is_too_large)
			return false;
		*keys = (*keys + 1) / 2;
	}
	return true;
}

static bool
run_groups(struct run *run)
{
	size_t count = run->events->names.count, keys = count;

	for (size_t first = 0; first == 0 || first < count; first += keys) {
		bool is_done = open_fitting(run, &keys) && decide_group(run, first, keys) &&
		               settling_until(&run->settling, UINT64_MAX) && check_all_places(run);

		run_end(run);
		if (!is_done || count == 0)
			return is_done;
	}
	return true;
}

/* A candidate's description is kept, not its results. */
static void
begin(struct candidate *candidate, size_t keys)
{
	struct candidate fresh = {
		.label = candidate->label,
		.label_own = candidate->label_own,
		.config = candidate->config,
		.rule = candidate->rule,
		.record = need(calloc(keys + 1, sizeof(*fresh.record))),
	};

	free(candidate->record);
	free(candidate->keys);
	*candidate = fresh;
}

bool
run_all(struct run *run)
{
	const struct events *events = run->events;
	bool is_done;

	run->settling.candidates = run->candidates;
	run->settling.candidate_count = run->candidate_count;
	for (size_t i = 0; i < run->candidate_count; i++)
		begin(&run->candidates[i], events->names.count);
	for (size_t i = 0; events->count > 0 && i < run->candidate_count; i++)
		run->candidates[i].chart =
			chart_make(events->first_ns, events->last_ns, run->east_ns);
	is_done = run_groups(run);
	settling_free(&run->settling);
	progress_erase();
	for (size_t i = 0; is_done && i < run->candidate_count; i++)
		tally_finish(&run->candidates[i]);
	return is_done;
}

/*
 * Larger tables, in which all is to be decided again: the same, for nothing depends on their size.
 */
static bool
make_room(struct run *run)
{
	bool ignored;

	run_end(run);
	run->key_room = 2 * run->events->names.count + SPARE;
	run->decided = 0;
	for (size_t i = 0; i < run->candidate_count; i++)
		begin(&run->candidates[i], run->key_room);
	return open_tables(run, run->key_room, false, &ignored);
}

bool
run_live(struct run *run)
{
	const struct events *events = run->events;

	if ((!run->key_room || events->names.count > run->key_room) && !make_room(run))
		return false;
	for (; run->decided < events->count; run->decided++)
		if (!decide(run, &events->at[run->decided]))
			return false;
	run->reported = run->decided;
	return check_all_places(run);
}
