/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BOUNDS_H
#define RL_BOUNDS_H

/* The bounds of what rl.h takes, which includes this: times in nanoseconds. */

#include <stdint.h>

#define RL_MILLISECOND UINT64_C(1000000)
#define RL_SECOND UINT64_C(1000000000)
#define RL_NEVER_NS UINT64_MAX /* a duration without an end */

#define RL_KEY_MAX 4096  /* bytes in a key; of a longer one: rl_key_digest() */
#define RL_NAME_MAX 63   /* bytes in a segment's or a rule's name */
#define RL_PREFIX_MAX 63 /* bytes in a pattern of RL_MATCH_PREFIX */
#define RL_CAPACITY_MAX ((UINT32_C(1) << 28) - 1)
#define RL_IN_FLIGHT_MAX ((UINT32_C(1) << 20) - 1) /* capacity of an in_flight limit */
#define RL_PREFETCH_MAX 4095                       /* units that a process prefetches */
#define RL_PREFETCH_PART 16 /* prefetch * granularity is at most such a part of the capacity */
#define RL_WINDOW_MIN (10 * RL_MILLISECOND)
#define RL_WINDOW_MAX (400 * UINT64_C(86400) * RL_SECOND) /* 400 days */
#define RL_GRANULARITY_MAX 64                             /* sub-buckets in a window */
#define RL_RING_MAX 8192                                  /* entries in a key's ring */
#define RL_LOG_MAX 4096  /* capacity of a sliding_log, and at most half the ring */
#define RL_LIMITS_MAX 8  /* limits of a rule */
#define RL_LEAVE_MAX 999 /* thousandths of a limit that an item leaves to others */
#define RL_WAIT_USUAL (20 * RL_MILLISECOND) /* for a share of a cluster's limit */
#define RL_WAIT_MAX RL_SECOND
#define RL_WAIT_NONE RL_NEVER_NS /* nobody waits for one */
/*
 * rl_options.key_bytes: the segment keeps no name of a key or a ban. Names cannot be listed then.
 */
#define RL_KEY_BYTES_NONE UINT32_MAX

/* The most that struct rl_options may ask for, and what it gets where it says 0. */
#define RL_KEYS_MAX UINT32_C(1500000000)
#define RL_RULES_MAX 1023 /* and as many limits, of all rules together */
#define RL_OVERRIDES_MAX UINT32_C(100000000)
#define RL_BANS_MAX UINT32_C(1000000)
#define RL_HOLDERS_MAX UINT32_C(4096)
#define RL_EVENTS_MAX (UINT32_C(1) << 20)
#define RL_CHANGES_MAX 65535
#define RL_EVENTS_NONE UINT32_MAX /* as rl_options.events: nothing is told */
#define RL_RESERVES_MAX UINT32_C(1024)
#define RL_CELLS_MIN UINT32_C(16) /* of what a 0 stands for */
#define RL_CELLS_MAX (UINT32_C(1) << 24)
#define RL_BUFFER_MAX (86400 * RL_SECOND)
#define RL_KEYS_DEFAULT 24576
#define RL_RING_DEFAULT 1
#define RL_KEY_BYTES_DEFAULT 48
#define RL_RULES_DEFAULT 64
#define RL_OVERRIDES_DEFAULT 1024
#define RL_BANS_DEFAULT 1024
#define RL_HOLDERS_DEFAULT 1024
#define RL_RESERVES_DEFAULT 64
#define RL_RESERVES_OF_CELLS 16 /* where `cells` is said, and this is not */
#define RL_EVENTS_DEFAULT 4096
#define RL_CHANGES_DEFAULT 1024
#define RL_BUFFER_DEFAULT (10 * RL_SECOND)
#define RL_MODE_DEFAULT 0600

#endif
