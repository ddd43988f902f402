/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_FOLLOW_H
#define RLCTL_REPLAY_FOLLOW_H

/*
 * Logs that grow, read until an interrupt. A request waits until one has come that is `late_ns`
 * younger than it, or nothing came for so long: so those of several workers are put in order. One
 * that comes later still is decided when it comes, and counted.
 */

#include "replay/intake.h"
#include "replay/run.h"

struct follow {
	struct intake *intake;
	struct events *events;
	struct run *run;
	uint64_t late_ns;
	uint64_t late; /* requests that came too late */
};

/* False after a message. */
bool follow(struct follow *follow, char **files, size_t count);

#endif
