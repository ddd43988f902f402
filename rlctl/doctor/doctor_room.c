/* SPDX-License-Identifier: BSD-2-Clause */
/* Check of the segment's room for rules, limits and overrides, which was given at its creation. */

#include <inttypes.h>

#include "doctor/doctor.h"

#define NEARLY_FULL 80 /* per cent */

/* True if there is room enough. */
static bool
check_one(struct doctor *doctor, uint64_t used, uint64_t room, const char *what, const char *why,
          const char *different)
{
	if (used * 100 < room * NEARLY_FULL)
		return true;
	doctor_say(doctor, DOCTOR_NOTE, why, "%" PRIu64 " of %" PRIu64 " %s are taken", used, room,
	           what);
	doctor_mend(doctor, DOCTOR_RECREATE, doctor->name, doctor->name, different, doctor->name);
	return false;
}

void
check_room(struct doctor *doctor)
{
	const struct rl_info *info = &doctor->info;
	bool is_enough;

	is_enough = check_one(doctor, info->rules_used, info->rules, "rules",
	                      "while a configuration is replaced, the old rules, the new and those "
	                      "of applications have to fit; when they do not, the old one stays",
	                      " with more rules");
	is_enough &= check_one(doctor, info->limits_used, info->limits, "limits",
	                       "while a configuration is replaced, the old limits and the new "
	                       "have to fit; when they do not, the old one stays",
	                       " with more rules: each brings room for sixteen limits");
	is_enough &= check_one(doctor, info->overrides_used, info->overrides, "overrides",
	                       "a configuration with more of them than fit is refused",
	                       " with more overrides");
	if (is_enough)
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "%" PRIu32 " of %" PRIu32 " rules, %" PRIu32 " of %" PRIu32
		           " limits, %" PRIu64 " of %" PRIu32 " overrides",
		           info->rules_used, info->rules, info->limits_used, info->limits,
		           info->overrides_used, info->overrides);
}
