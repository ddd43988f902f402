/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_BLIND_H
#define RLD_CLUSTER_BLIND_H

/*
 * The blind part that follows the number of hosts: of each limit with "blind": "auto" a host admits
 * a twentieth of the capacity, divided by D, a power of two. All that hosts admit blind within a
 * window is then at most that twentieth, however many come and go. No clock, no store: all is
 * given.
 *
 *	announces	each host has an entry in the store: its D, and for how long it has been as
 *			large. It is kept for BLIND_LIFE_NS + hold after the last announcement; hold
 *			is the longest window, and an eighth
 *	D		is the power of two at or above the number of entries, at once: they are
 *			there for longer than what their hosts may have admitted counts
 *	quiet		a host that has just come admits nothing blind for BLIND_LIFE_NS + hold, and
 *			goes on so until each other entry has a D of at least the number of entries,
 *			for longer than hold
 *	not known	whose entry is not there (the store was flushed) begins anew to be quiet
 *	not heard of	what it may admit counts until BLIND_LIFE_NS - BLIND_MARGIN_NS after the
 *			question that was answered last, whether the daemon lives or not
 *
 * Why the sum of 1/D over all that admitted something blind within hold is at most 1: when the last
 * host of any set of n begins, all of them have entries, so each has had a D of n or more for
 * longer than hold. D falls only to what holds all entries.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rl_cluster.h>

#define BLIND_LIFE_NS UINT64_C(40000000000)
#define BLIND_MARGIN_NS UINT64_C(5000000000)
#define BLIND_HOLD_MAX_NS (RL_BLIND_AUTO_MAX / 8 * 9) /* longer windows are for a number */
#define BLIND_STEP_MAX 28 /* of a host that knows of nobody as yet: no limit is as large */

struct blind {
	unsigned step; /* D is 1 << step */
	bool is_begun, is_joined;
	uint64_t risen_ns; /* since when D is as large */
	uint64_t first_ns; /* since when it is quiet */
	uint64_t until_ns; /* what it may admit counts until then; 0: nothing */
};

/* What the store says when a host has announced itself. */
struct blind_entries {
	uint64_t count;
	bool is_known;       /* its own entry was there before */
	uint64_t least_step; /* of the others; BLIND_STEP_MAX without any */
	uint64_t least_ns; /* for how long the newest of theirs has stood; UINT64_MAX without any */
};

/* As a daemon begins that finds a step in the segment, which counts until then; 0: none. */
void blind_begin(struct blind *b, unsigned step, uint64_t until_ns, uint64_t now_ns);

/* For how long its D has been as large, to be announced with `step`. */
uint64_t blind_age(const struct blind *b, uint64_t now_ns);

/* Announced, in a question of asked_ns. True: it is to be announced again at once. */
bool blind_announced(struct blind *b, const struct blind_entries *e, uint64_t hold_ns,
                     uint64_t asked_ns, uint64_t now_ns);

#endif
