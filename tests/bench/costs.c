/* SPDX-License-Identifier: BSD-2-Clause */
/* What each way to decide costs, beside the floor of the same rounds: the lanes of hot.def. */
#include <string.h>
#include <time.h>

#include "contention.h"
#include "floor.h"
#include "hot.h"
#include "open.h"
#include "report.h"

#define OPERATIONS 20000
#define BANS_A_SECOND 1000
#define FLOORS 5

static void
tell(json_t *section, const struct lane *lanes, const struct samples *s)
{
	const size_t first = FLOORS; /* of hot.def's */

	report_lane(section, &lanes[0], &s[0], NULL, NULL, 0);
	for (size_t i = 1; i < first; i++)
		report_lane(section, &lanes[i], &s[i], &s[0], "floors", 0);
	for (size_t i = 0; i < hot_count; i++) {
		const struct hot_lane *l = &hot_lanes[i];
		size_t to = 0;
		for (size_t k = 0; l->beside && k < i; k++)
			if (strcmp(hot_lanes[k].id, l->beside) == 0)
				to = first + k;
		report_lane(section, &lanes[first + i], &s[first + i], &s[to],
		            to > 0 ? lanes[to].label : "floors", l->most);
	}
}

/* Sets a ban and lifts it, over and over. */
static void
ban_and_lift(const void *rl)
{
	const struct timespec pause = {.tv_nsec = 1000000000L / BANS_A_SECOND};
	const struct rl_pattern pattern = rl_pattern_of("somebody else", 13);

	for (;;) {
		rl_ban((struct rl *)(uintptr_t)rl, RL_ANY_RULE, &pattern, RL_NEVER_NS);
		nanosleep(&pause, NULL);
		rl_unban((struct rl *)(uintptr_t)rl, RL_ANY_RULE, &pattern);
		nanosleep(&pause, NULL);
	}
}

/* Alone and under that contention in turns: two processes on two CPUs. */
static void
tell_beside_bans(const struct bench *bench, json_t *section)
{
	struct hot *hot = hot_open_one("ban_of_another");
	struct lane lane = hot_lane_of(hot, bench_n(bench, 5 * OPERATIONS));
	struct samples alone, beside;
	pid_t pid;

	lane.id = "beside_bans";
	lane.label = "admitted, while 1,000 bans a second are set and lifted";
	lanes_measure(bench, &lane, 1, &alone);
	pid = contention_start(bench, ban_and_lift, hot->rl);
	lanes_measure(bench, &lane, 1, &beside);
	contention_stop(pid, "who sets bans");
	report_lane(section, &lane, &beside, &alone, "the same alone", 1.3);
	hot_close(hot, 1);
}

void
bench_costs(struct bench *bench)
{
	json_t *section = report_section(bench->report, "costs",
	                                 "A decision about a hot key, in floors: a SipHash-1-3 of "
	                                 "16 bytes and a CAS16");
	const struct bench many = bench_many_rounds(bench);
	uint64_t n = bench_n(bench, OPERATIONS);
	struct hot *hot = hot_open();
	struct lane lanes[FLOORS + hot_count];
	struct samples samples[FLOORS + hot_count];
	const struct lane floors[FLOORS] = {
		{"floor", "hash and CAS16: a floor", floor_decision, NULL, n, 0},
		{"hash", "SipHash-1-3 of a 16-byte key", floor_hash, NULL, n, 0},
		{"cas16", "CAS16, uncontended", floor_cas16, NULL, n, 0},
		{"clock", "clock read", floor_clock, hot->rl, n, 0},
		{"count", "CPU number and an atomic add", floor_count, NULL, n, 0},
	};

	memcpy(lanes, floors, sizeof floors);
	for (size_t i = 0; i < hot_count; i++)
		lanes[FLOORS + i] = hot_lane_of(&hot[i], n);
	lanes_measure(&many, lanes, FLOORS + hot_count, samples);
	tell(section, lanes, samples);
	tell_beside_bans(bench, section);
	hot_close(hot, hot_count);
}
