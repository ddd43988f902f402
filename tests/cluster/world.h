/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_WORLD_H
#define TESTS_CLUSTER_WORLD_H

/*
 * Hosts, their daemons with the real policy, a store, and a network that loses, delays, doubles and
 * reorders, for one key, by a clock of its own. After each admission the truth is looked at, which
 * nobody in it knows.
 */

#include <stdbool.h>
#include <stdint.h>

enum world_load {
	WORLD_EVEN,
	WORLD_ONE_HOST,
	WORLD_SHIFT, /* all on one host, each 3 s on another */
	WORLD_BURST, /* a twentieth of the capacity at once on any host */
	WORLD_HERD,  /* the whole capacity on each host at once */
	WORLD_ZIPF,
	WORLD_ROBIN, /* one host after the other */
	WORLD_LOADS
};

enum world_cost {
	WORLD_ONE,
	WORLD_UNIFORM, /* 1 to the capacity */
	WORLD_HEAVY,   /* Pareto, of which the mean hardly is one */
	WORLD_COSTS
};

struct world_config {
	int hosts;
	uint64_t capacity, blind, window_ns, lease_ns, look_ns;
	uint64_t tick_ns; /* until a daemon has seen a wish, at most; 0: 10 ms */
	int parts;        /* of the window; 0 a bucket, 1 a fixed window */
	int is_hard;
	double demand; /* capacities a window */
	enum world_load load;
	enum world_cost cost;
	uint64_t wait_ns;                 /* for so long who is denied comes again, each 2 ms */
	bool is_near;                     /* the store is half a millisecond away, and never slow */
	bool is_deaf;                     /* nobody hears a call */
	bool is_central;                  /* one counter for all, which is asked for each request */
	double loss, slow, stops, deaths; /* parts of 1 */
	uint64_t skew_ns;
	int seconds;
	uint64_t seed;
};

struct world_result {
	int64_t over; /* the sum of loads above the capacity, at most; the bound is incarnations x
	                 blind */
	int64_t span_over; /* what a real window admitted above it */
	uint64_t incarnations;
	uint64_t requests, admitted, denied, falsely; /* falsely: though all of them had room */
	uint64_t in_vain;                             /* denied after they had waited */
	uint64_t cost;                                /* of what was admitted */
	uint64_t asks, calls;
	uint64_t waited_ns[5]; /* of those admitted: 50 %, 90 %, 99 %, 99.9 %, all waited less */
	double windows;
};

struct world_result world_run(const struct world_config *config);

/*
 * Others hold shares of a key, in use or idle; then one host is asked for a cost that is free, each
 * pause_ns until it admits it.
 */
struct world_try {
	uint64_t cost, waited_ns, tries, asks; /* cost 0: nothing was free */
};

struct world_try world_try(const struct world_config *config, uint64_t pause_ns, bool are_busy);

#endif
