/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/health.h"

#include <string.h>
#include <time.h>

static int
count_ban(const struct rl_ban_info *ban, void *arg)
{
	(void)ban;
	++*(uint64_t *)arg;
	return 0;
}

static int
count_cells(const struct rl_overflow_info *limit, void *arg)
{
	*(uint64_t *)arg += limit->cells;
	return 0;
}

static uint64_t
count_bans(struct rl *rl, uint64_t now_ns)
{
	uint64_t count = 0;

	rl_bans_walk(rl, now_ns, count_ban, &count);
	rl_overrides_walk(rl, now_ns, count_ban, &count); /* in the same room */
	return count;
}

static uint64_t
count_sets(struct rl *rl, const struct rl_info *info, uint64_t now_ns)
{
	uint64_t cells = 0;

	rl_overflow_walk(rl, now_ns, count_cells, &cells);
	return info->cells > 0 ? cells / info->cells : 0;
}

void
health_areas(struct rl *rl, const struct rl_info *info, uint64_t now_ns, uint64_t slots_used,
             struct health_area areas[HEALTH_AREAS])
{
	uint64_t bans = count_bans(rl, now_ns), reserves = count_sets(rl, info, now_ns);
	const struct health_area all[HEALTH_AREAS] = {
		[HEALTH_SLOTS] = {"slots", slots_used, info->slots, HEALTH_TABLE_PERCENT, true},
		[HEALTH_RULES] = {"rules", info->rules_used, info->rules, HEALTH_AREA_PERCENT,
	                          false},
		[HEALTH_LIMITS] = {"limits", info->limits_used, info->limits, HEALTH_AREA_PERCENT,
	                           false},
		[HEALTH_OVERRIDES] = {"overrides", info->overrides_used, info->overrides,
	                              HEALTH_AREA_PERCENT, false},
		[HEALTH_BANS] = {"bans", bans, info->bans, HEALTH_AREA_PERCENT, true},
		[HEALTH_HOLDERS] = {"holders", info->holders_used, info->holders,
	                            HEALTH_AREA_PERCENT, false},
		[HEALTH_RESERVES] = {"sets of overflow counters", reserves, info->reserves, 100,
	                             true},
	};

	memcpy(areas, all, sizeof all);
}

bool
health_is_nearly_full(const struct health_area *area)
{
	return area->room > 0 && area->used * 100 >= area->room * area->most_percent;
}

static void
add_rule(struct health_losses *sum, const uint64_t *counters)
{
	sum->without_slot += counters[RL_COUNT_full_denied] + counters[RL_COUNT_full_allowed] +
	                     counters[RL_COUNT_full_undecided] + counters[RL_COUNT_reserved];
	sum->redefined += counters[RL_COUNT_redefined];
}

struct health_losses
health_losses(struct rl *rl, const struct rl_info *info)
{
	struct health_losses sum = {0};
	uint64_t counters[RL_COUNTERS];
	struct rl_rule_info rule;

	for (uint32_t id = 0; id < info->rules; id++) {
		if (rl_rule_info(rl, (int)id, &rule) != 1)
			continue;
		sum.nameless += rule.name[0] == '\0';
		if (rl_stats(rl, rule.handle, counters, RL_COUNTERS) == 0)
			add_rule(&sum, counters);
	}
	return sum;
}

uint64_t
health_clock_off_ns(const struct rl *rl, bool *is_behind)
{
	struct timespec wall;
	uint64_t wall_ns, segment_ns = rl_now(rl);

	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (uint64_t)wall.tv_sec * RL_SECOND + (uint64_t)wall.tv_nsec;
	*is_behind = wall_ns > segment_ns;
	return *is_behind ? wall_ns - segment_ns : segment_ns - wall_ns;
}
