/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADMIN_H
#define RL_ADMIN_H

/*
 * rl for tools: what a segment is, what is in it, and how to sweep and remove it.
 *
 * Everything but rl_sweep_at() works on a read-only handle, blocks nobody, and may run
 * beside any number of workers. What it reports of a slot was true at one instant.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A segment of this process alone, in anonymous memory: for replaying traffic and
 * for tests. `options` as for rl_open(); mode, group and flags are unused. Its
 * clock starts as the machine's. Close with rl_close(). 0, -EINVAL or -ENOMEM.
 */
int rl_open_private(const struct rl_options *options, struct rl **out);

/*
 * Remove the name, which must be given. Processes that have the segment open keep it until
 * they close it. 0, -EINVAL, -ENOENT or -EACCES.
 */
int rl_unlink(const char *name);

struct rl_info {
	const char *name;   /* "" for a private segment; lives as long as the handle */
	uint32_t layout;    /* layout version */
	uint64_t bytes;     /* size of the segment */
	uint64_t slots;     /* places for keys */
	uint32_t ring;      /* sub-buckets kept per key */
	uint32_t key_bytes; /* bytes kept of each key */
	uint32_t rules;     /* room for rules */
	enum rl_on_full on_full;
	uint64_t buffer_ns;
	uint64_t created_ns; /* Unix time */
	uid_t owner;         /* of the file; of the process for a private segment */
	gid_t group;
	mode_t mode;     /* permission bits */
	int is_readonly; /* this handle is */
};

void rl_info(const struct rl *rl, struct rl_info *info);

/*
 * The rule in place `id`, 0 <= id < rl_info.rules. `name` is "" when its record is
 * damaged, or its definer has not come to it yet. 1 filled, 0 no rule there. A place that is filled stays filled.
 */
struct rl_rule_info {
	char name[RL_NAME_MAX + 1];
	enum rl_algorithm algorithm;
	uint32_t capacity;
	uint64_t window_ns;
	uint32_t granularity;
	int hard;
	uint32_t burst;
	uint32_t undelayed;
	int shadow;
};
int rl_rule_info(struct rl *rl, int id, struct rl_rule_info *info);

/* Counters of a rule, one for each line of rl_counters.def, in its order. */
enum rl_counter {
#define RL_COUNTER(name, unit, text) RL_COUNT_##name,
#include <rl_counters.def>
#undef RL_COUNTER
	RL_COUNTERS
};

struct rl_counter_info {
	const char *name; /* as in JSON and metrics */
	const char *unit;
	const char *text; /* one sentence for people */
};
/* What counter number `counter` is; NULL past the last one this library knows. */
const struct rl_counter_info *rl_counter_info(int counter);

/*
 * The first `count` counters of rule `id`, summed over all processes, exact at once; 0 for
 * those this library does not know. 0 or -EINVAL.
 */
int rl_stats(const struct rl *rl, int id, uint64_t *counters, size_t count);

/* One key under one rule, as of `now_ns`. */
struct rl_entry {
	int rule;
	uint64_t slot;
	uint64_t id;     /* the key's hash as kept in the table, to show when the name is lost */
	const void *key; /* what is kept of the key; NULL when torn, stale or not kept */
	size_t key_kept; /* bytes at `key` */
	size_t key_len;  /* bytes in the whole key; 0 when `key` is NULL */
	uint32_t used;   /* cost that counts now: limit - remaining, at least 0 */
	int is_limited;  /* a request of cost 1 would be denied */
	int is_stale;    /* outlived its window and the buffer: free to be retired */
	struct rl_result peek; /* limit, remaining, retry and reset of a request of cost 1 */
	uint32_t buckets; /* sub-buckets below, newest first, the last partly out of the window; 0
	                         for algorithms that have none */
	uint32_t bucket[RL_GRANULARITY_MAX + 1];
	uint64_t bucket_ns;     /* length of one */
	uint64_t bucket_end_ns; /* when the newest one ends, Unix time */
};

/*
 * Call `visit` for every key in the table, in table order. `entry` and its key live
 * until it returns; a value other than 0 ends the walk. A key that is retired or
 * moved during the walk may be missed; none is shown twice at one slot.
 * Returns what the last `visit` returned, or 0.
 */
int rl_walk(struct rl *rl, uint64_t now_ns, int (*visit)(const struct rl_entry *entry, void *arg),
            void *arg);

/* The entry of one key. Calls `visit` once and returns its value, or -ENOENT, -EINVAL. */
int rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
              int (*visit)(const struct rl_entry *entry, void *arg), void *arg);

/* How many places are taken, without looking at the counters in them. */
uint64_t rl_fill(const struct rl *rl);

/*
 * Retire every key whose window and buffer have passed, and free places that were claimed
 * but not charged, as killed processes leave them; a living one claims again. Returns how
 * many places it freed, or -EROFS.
 */
int64_t rl_sweep_at(struct rl *rl, uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
