/* SPDX-License-Identifier: BSD-2-Clause */
/* Check of who holds units in flight: the dead, those that cannot be seen from here, and seats. */

#include <inttypes.h>
#include <metrics/in_flight.h>
#include <rl_admin.h>

#include "base/rule.h"
#include "doctor/doctor.h"
#include "health/health.h"
#include "key/usage.h"

/* The units that are held, by keys whose whole name is known. */
struct held {
	struct rl *rl;
	bool has_limits; /* some rule has a concurrency limit */
	uint64_t units[3];
	uint64_t full; /* requests that found no room for another holder */
};

static void
read_rules(const struct doctor *doctor, struct held *held)
{
	uint64_t counters[RL_COUNTERS];
	struct rl_rule_info rule;

	for (uint32_t id = 0; id < doctor->info.rules; id++) {
		if (!rule_read(doctor->rl, (int)id, &rule) || !rule_has_in_flight(&rule) ||
		    rl_stats(doctor->rl, rule.handle, counters, RL_COUNTERS) < 0)
			continue;
		held->has_limits = true;
		held->full += counters[RL_COUNT_holders_full];
	}
}

static int
add_holder(const struct rl_holder *holder, void *arg)
{
	struct held *held = arg;

	held->units[holder->state] += holder->units;
	return 0;
}

static int
add_entry(const struct rl_entry *entry, void *arg)
{
	struct held *held = arg;

	if (usage_of(entry).is_held && entry->used > 0 && entry_has_key(entry) && entry->rule >= 0)
		rl_holders_walk(held->rl, entry->rule, entry->key, entry->key_len, add_holder,
		                held);
	return 0;
}

/* True if there is nothing to say. */
static bool
judge_seats(struct doctor *doctor, const struct held *held)
{
	uint64_t used = doctor->info.holders_used, room = doctor->info.holders;

	if (held->full == 0 && used * 100 < room * HEALTH_AREA_PERCENT)
		return true;
	doctor_say(doctor, held->full > 0 ? DOCTOR_FINDING : DOCTOR_NOTE,
	           "a process that finds no room to hold anything is answered as on_full says",
	           "%" PRIu64 " of %" PRIu64 " processes hold units, and %" PRIu64
	           " requests found no room",
	           used, room, held->full);
	doctor_fix(doctor, DOCTOR_RECREATE, doctor->name, doctor->name,
	           " with more holders, or a longer ring if one key has many", doctor->name);
	return false;
}

static bool
judge_elsewhere(struct doctor *doctor, uint64_t units)
{
	if (units == 0)
		return true;
	doctor_say(doctor, DOCTOR_NOTE,
	           "what a dead process of theirs holds comes back only by somebody who sees them",
	           "%" PRIu64 " units are held in pid namespaces that cannot be seen from here",
	           units);
	doctor_fix(doctor, "run rld as root in the host's pid namespace");
	return false;
}

static bool
judge_dead(struct doctor *doctor, uint64_t units)
{
	if (units == 0)
		return true;
	doctor_say(doctor, DOCTOR_NOTE,
	           "a request that they deny takes them back at once, and so does a sweep",
	           "%" PRIu64 " units are held by processes that have ended", units);
	doctor_fix(doctor, "rlctl --segment %s sweep", doctor->name);
	return false;
}

void
check_holders(struct doctor *doctor)
{
	struct held held = {.rl = doctor->rl};
	bool is_well;

	read_rules(doctor, &held);
	if (!held.has_limits) {
		doctor_say(doctor, DOCTOR_OK, NULL, "no rule limits what is in flight");
		return;
	}
	rl_walk(doctor->rl, doctor->now_ns, NULL, add_entry, &held);
	is_well = judge_seats(doctor, &held);
	is_well &= judge_dead(doctor, held.units[RL_HOLDER_DEAD]);
	is_well &= judge_elsewhere(doctor, held.units[RL_HOLDER_ELSEWHERE]);
	if (is_well)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "%" PRIu64 " units are in flight; of seats for who holds some, %" PRIu32
		           " of %" PRIu32 " are taken",
		           held.units[RL_HOLDER_ALIVE], doctor->info.holders_used,
		           doctor->info.holders);
}
