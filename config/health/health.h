/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_HEALTH_H
#define CONFIG_HEALTH_H

/*
 * What of a segment is a trouble, told by whoever looks: rlctl doctor, with why and how it is
 * mended, and the status page of rld. Here is what a look at the segment's head and statistics
 * tells, at a cost that does not grow with the number of keys; doctor looks further.
 */

#include <rl_admin.h>
#include <stdbool.h>

/* Of the slots: from here on keys find none. */
#define HEALTH_TABLE_PERCENT 75

/* Of any other area: what comes next may not fit. */
#define HEALTH_AREA_PERCENT 80

/* A segment's clock this far from the wall clock surprises people. */
#define HEALTH_CLOCK_NS (60 * RL_SECOND)

/* So many of a million keys without a slot are denied by others: one user in a hundred. */
#define HEALTH_DENIED_PPM 10000

enum health_area_id {
	HEALTH_SLOTS,
	HEALTH_RULES,
	HEALTH_LIMITS,
	HEALTH_OVERRIDES,
	HEALTH_BANS,
	HEALTH_HOLDERS,  /* processes that hold units in flight */
	HEALTH_RESERVES, /* sets of overflow counters; full is one too many, and less is well */
	HEALTH_AREAS
};

struct health_area {
	const char *name;
	uint64_t used, room;
	unsigned most_percent; /* from which on it is told: */
	bool is_finding;       /* as what is to be mended; else as good to know */
};

/* All areas; `slots_used` is the caller's, who may know it without a look at each. */
void health_areas(struct rl *rl, const struct rl_info *info, uint64_t now_ns, uint64_t slots_used,
                  struct health_area areas[HEALTH_AREAS]);

/* An area without room is none. */
bool health_is_nearly_full(const struct health_area *area);

/* Requests that met a full table, and what else the rules' statistics tell, since they began. */
struct health_losses {
	uint64_t without_slot; /* decisions for keys that found none */
	uint64_t redefined;    /* definitions that replaced a different one */
	uint32_t nameless;     /* rules whose name is damaged */
};
struct health_losses health_losses(struct rl *rl, const struct rl_info *info);

/* How far the segment's clock is from the wall clock, and whether behind it. */
uint64_t health_clock_off_ns(const struct rl *rl, bool *is_behind);

#endif
