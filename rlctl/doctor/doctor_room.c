/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Check of the segment's room for rules, limits and overrides, which was given at its creation, and
 * of its rings.
 */

#include <inttypes.h>

#include "doctor/doctor.h"
#include "health/health.h"

/* True if there is room enough. */
static bool
check_one(struct doctor *doctor, const struct health_area *area, const char *why,
          const char *different)
{
	if (!health_is_nearly_full(area))
		return true;
	doctor_say(doctor, DOCTOR_NOTE, why, "%" PRIu64 " of %" PRIu64 " %s are taken", area->used,
	           area->room, area->name);
	doctor_fix(doctor, DOCTOR_RECREATE, doctor->name, doctor->name, different, doctor->name);
	return false;
}

/* Has a definition found what it needs? */
static bool
check_ring(struct doctor *doctor)
{
	uint32_t asked = doctor->info.ring_asked, ring = doctor->info.ring;

	if (asked <= ring)
		return true;
	doctor_say(doctor, DOCTOR_FINDING,
	           "a window takes an entry for each sub-bucket, and a log two for each unit; who "
	           "has defined the rule was told RL_ERING",
	           "the definition of a rule was refused: it needs a ring of %" PRIu32
	           ", and keys have %" PRIu32,
	           asked, ring);
	doctor_fix(doctor, "rlctl --segment %s resize --ring %" PRIu32, doctor->name, asked);
	return false;
}

void
check_room(struct doctor *doctor)
{
	const struct rl_info *info = &doctor->info;
	struct health_area areas[HEALTH_AREAS];
	bool is_enough;

	health_areas(doctor->rl, info, doctor->now_ns, 0, areas);
	is_enough = check_one(doctor, &areas[HEALTH_RULES],
	                      "while a configuration is replaced, the old rules, the new and those "
	                      "of applications have to fit; when they do not, the old one stays",
	                      " with more rules");
	is_enough &= check_one(doctor, &areas[HEALTH_LIMITS],
	                       "while a configuration is replaced, the old limits and the new "
	                       "have to fit; when they do not, the old one stays",
	                       " with more rules: each brings room for sixteen limits");
	is_enough &= check_one(doctor, &areas[HEALTH_OVERRIDES],
	                       "a configuration with more of them than fit is refused",
	                       " with more overrides");
	is_enough &= check_ring(doctor);
	if (is_enough)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "%" PRIu32 " of %" PRIu32 " rules, %" PRIu32 " of %" PRIu32
		           " limits, %" PRIu64 " of %" PRIu32 " overrides",
		           info->rules_used, info->rules, info->limits_used, info->limits,
		           info->overrides_used, info->overrides);
}
