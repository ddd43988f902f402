/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_WORLD_H
#define TESTS_CLUSTER_WORLD_H

/*
 * Hosts, their daemons with the real policy, a store, and a network that loses, delays, doubles and
 * reorders, for one key, by a clock of its own. After each admission the truth is looked at, which
 * nobody in it knows.
 */

#include <stdint.h>

enum world_load {
	WORLD_EVEN,
	WORLD_ONE_HOST,
	WORLD_SHIFT, /* all on one host, each 3 s on another */
	WORLD_BURST, /* a twentieth of the capacity at once on any host */
	WORLD_HERD,  /* the whole capacity on each host at once */
	WORLD_ZIPF,
	WORLD_LOADS
};

struct world_config {
	int hosts;
	uint64_t capacity, blind, window_ns, lease_ns, look_ns;
	int parts; /* of the window; 0 a bucket, 1 a fixed window */
	int is_hard;
	double demand; /* capacities a window */
	enum world_load load;
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
	uint64_t asks;
	double windows;
};

struct world_result world_run(const struct world_config *config);

#endif
