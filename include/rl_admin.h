/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADMIN_H
#define RL_ADMIN_H

/*
 * rl for tools: what a segment has counted and for whom, and how to sweep, audit and configure it.
 * Programs that decide need rl.h alone.
 *
 * Calls that only read work on a read-only handle; calls that write return -EROFS there. All may
 * run beside any number of workers, and delay none of them. What they report of a slot was true
 * at one timestamp.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

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
 * The first `count` counters of rule `id`, summed over all processes, exact immediately; 0 for
 * counters this library does not know. They start at zero when the rule gets its row. 0, or
 * -EINVAL: the row has been given to another rule.
 */
int rl_stats(const struct rl *rl, int id, uint64_t *counters, size_t count);

/*
 * A charge and its time: for windows a sub-bucket's count and start, for logs each time, for
 * buckets what is spent as of the entry's now, rounded up.
 */
struct rl_charge_entry {
	uint64_t at_ns;
	uint64_t cost;
};

/*
 * rl_entry.denied is sampled, so that a flood of denials writes next to nothing: one in
 * RL_DENIED_SAMPLE, chosen at random, counts for as many. With n denials the standard error is
 * the square root of RL_DENIED_SAMPLE * n: of 6,400, ten percent.
 */
#define RL_DENIED_SAMPLE 64

/*
 * The answer to a key's next request of cost 1, by this limit alone. For a network, under a rule
 * with prefixes, it is what holds for all of its addresses.
 */
enum rl_entry_state {
	RL_ENTRY_OPEN = 0,
	RL_ENTRY_LIMITED = 1, /* denied by the limit */
	RL_ENTRY_BANNED = 2,  /* denied by a ban, or by an override that bans, whatever is used */
	RL_ENTRY_EXEMPT = 3,  /* allowed by an exemption, or by an override that exempts */
	RL_ENTRY_SHADOW = 4,  /* over a limit that is not enforced: allowed */
};

/* One key under one limit, as of `now_ns`. */
struct rl_entry {
	int rule;       /* -1: no rule has the limit any more */
	unsigned limit; /* which of the rule's */
	uint64_t slot;
	uint64_t id;     /* the key's hash as kept in the table, to show when the name is lost */
	const void *key; /* the bytes kept of the key; NULL if torn, stale or not kept */
	size_t key_kept; /* bytes at `key` */
	size_t key_len;  /* bytes in the whole key; 0 when `key` is NULL */
	uint32_t used;   /* cost that the limit counts now, whatever the state */
	enum rl_entry_state state;
	int is_state_known; /* 0: a ban or an override may apply, but cannot be looked up: not all of
	                       the name is kept */
	int is_limited;     /* a request of cost 1 would be denied: limited or banned */
	int is_stale;       /* outlived its window and the buffer: free to be retired */
	uint64_t denied;    /* about how many requests were denied for it, see RL_DENIED_SAMPLE */
	struct rl_result peek; /* the result of a request of cost 1, by this limit alone */
	size_t charge_entries; /* in charge_entry[], oldest first: what rl_restore_at() takes */
	const struct rl_charge_entry *charge_entry;
	uint32_t
		buckets; /* in bucket[]: sub-buckets, newest first, the last partly out of the window;
	                     0 for algorithms that have none */
	uint32_t bucket[RL_GRANULARITY_MAX + 1];
	uint64_t bucket_ns;           /* length of one */
	uint64_t bucket_end_ns;       /* when the newest one ends, Unix time */
	const struct rl_count *count; /* of a space of counters, else NULL: then `used` is its value
	                                 as far as that fits, and of the others but the key,
	                                 `is_stale` and `rule` there is nothing to tell */
	uint32_t tier; /* the capacity that the last request with one of its own brought along (see
	                  struct rl_item), 0: none is known. `used`, `state` and `peek` are what the
	                  next such request is told, so an override goes before it */
};

/*
 * What is known of a key before its name and its sub-buckets are read, to filter by. The first
 * four fields are as in rl_entry, the others are bounds. Valid until `wants` returns.
 */
struct rl_prefilter {
	int rule;
	unsigned limit;
	uint64_t slot;
	int is_stale;
	uint32_t used_most;       /* rl_entry.used is at most this; UINT32_MAX: nothing
	                             is known */
	uint32_t remaining_least; /* rl_entry.peek.remaining is at least this; if 0, the key may be
	                             limited or banned */
	const struct rl *rl;      /* for the calls below */
};

/* rl_entry.denied is at most this. */
uint64_t rl_prefilter_denied_most(const struct rl_prefilter *prefilter);

/*
 * The key as its record has it, unverified: if the entry has a key, it is this one. Stores the bytes
 * at `key`, which has room for RL_KEY_MAX, and returns how many; *key_len is the whole key's length.
 */
size_t rl_prefilter_key(const struct rl_prefilter *prefilter, void *key, size_t *key_len);

/*
 * Call `visit`, in table order, for every key for which `wants` returns other than 0, or for every
 * key if `wants` is NULL. `entry` and its key are valid until `visit` returns. A value other than 0
 * ends the walk. A key that is retired or moved during the walk may be missed; no slot is shown
 * twice. Returns what the last `visit` returned, or 0.
 *
 * A walk takes about as long as to read the memory, plus some 150 ns for each visit.
 */
int rl_walk(struct rl *rl, uint64_t now_ns,
            int (*wants)(const struct rl_prefilter *prefilter, void *arg),
            int (*visit)(const struct rl_entry *entry, void *arg), void *arg);

/*
 * Call `visit` for each limit of the rule that has counted the key. A value other than 0 ends it.
 * Returns what the last `visit` returned, or -ENOENT, -EINVAL, RL_EADDRESS. Under a rule with
 * prefixes the key may be a network as rl_entry.key shows it.
 */
int rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
              int (*visit)(const struct rl_entry *entry, void *arg), void *arg);

/*
 * Restore a dumped charge: charge `cost` at `at_ns` to one limit of a rule, whatever its capacity.
 * Restore the oldest charges first. The key is rl_entry.key, whole. 0, or -EINVAL (also of a limit in
 * flight, whose holders are gone), RL_EADDRESS, -ENOSPC, -EBUSY, -EROFS, -ENOMEM.
 */
int rl_restore_at(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
                  uint64_t cost, uint64_t at_ns);

/*
 * Who holds units in flight of a key: `visit` is called for each process that holds some, under each limit
 * of the rule that is RL_IN_FLIGHT. `state` is of a look at the process just then. A value other than 0 ends
 * it. Returns what the last `visit` returned, or 0; -ENOENT the key has no counter; -EINVAL, RL_EADDRESS,
 * -ENOMEM; -EBUSY the key changes too fast. The key is as for rl_lookup(). It costs some 10 us for each process.
 */
enum rl_holder_state {
	RL_HOLDER_ALIVE = 0,
	RL_HOLDER_DEAD = 1,      /* a sweep, or a request that would be denied, gives it back */
	RL_HOLDER_ELSEWHERE = 2, /* of another pid namespace: it cannot be told from here */
};
struct rl_holder {
	unsigned limit; /* which of the rule's */
	uint32_t units;
	pid_t pid; /* in this process's pid namespace; 0: none, or it is not known */
	enum rl_holder_state state;
};
int rl_holders_walk(struct rl *rl, int rule, const void *key, size_t key_len,
                    int (*visit)(const struct rl_holder *holder, void *arg), void *arg);

/* How many slots are used. Reads no counter. */
uint64_t rl_fill(const struct rl *rl);

/*
 * What is never so in an undamaged segment, even if processes were stopped or killed midway.
 */
enum rl_fault {
	/* of a slot */
	RL_FAULT_STATUS = 0,   /* its tag has an unknown status */
	RL_FAULT_FREE = 1,     /* it is free, and its key was not retired */
	RL_FAULT_NO_LIMIT = 2, /* its limit does not exist */
	RL_FAULT_NAME = 3,     /* its record holds another key */
	RL_FAULT_SLOT = 4,     /* it is not a candidate slot of its key */
	RL_FAULT_RING = 5,     /* a sub-bucket that counts is not in its ring */
	RL_FAULT_SUM = 6,      /* its sum is not what its ring holds */
	RL_FAULT_ORDER = 7,    /* a time of its log is later than the next */
	RL_FAULT_TWICE = 8,    /* its key has a second slot */
	RL_FAULT_TALLY = 9,    /* its units in flight are not what its processes hold */
	/* of a rule, then of a limit */
	RL_FAULT_REFERENCE = 10, /* it refers to a limit that is not its own */
	RL_FAULT_RULE = 11,      /* its row is there twice, or behind an empty one */
	RL_FAULT_LIMIT = 12,     /* the same, of a limit's row */
	RL_FAULTS = 13,
};

/* A sentence for people; NULL for a fault that this library does not know. */
const char *rl_fault_text(enum rl_fault fault);

/* What an audit has seen. */
struct rl_audit {
	uint64_t live;      /* slots that hold a key */
	uint64_t named;     /* of them, those whose record has the key's name */
	uint64_t retiring;  /* slots that are being freed, or were left half freed */
	uint64_t claimed;   /* slots that are being claimed, or were left half claimed */
	uint64_t unsettled; /* slots that changed too fast to be judged */
};

/*
 * Look for faults in the table and the rules, and call `visit` for each. `at` is the slot, as
 * rl_entry.slot, or the number of the rule's or the limit's row. A value other than 0 ends the
 * audit. While other processes change the segment, it reports only what was so at one timestamp;
 * steps under way are no faults. Returns what the last `visit` returned, or 0, or -ENOMEM; *counts
 * is filled as far as the audit came.
 *
 * It takes some 500 ns and 8 bytes of memory for each key.
 */
int rl_audit(struct rl *rl, int (*visit)(enum rl_fault fault, uint64_t at, void *arg), void *arg,
             struct rl_audit *counts);

/*
 * Free the slots of expired keys, whose window and buffer have passed, and slots that were claimed
 * but not charged, as killed processes leave them; a living process claims again. Returns how many
 * slots it freed, or -EROFS.
 */
int64_t rl_sweep_at(struct rl *rl, uint64_t now_ns);

/*
 * The same for `count` slots from slot `first` on, so that a daemon can sweep in slices. Adds
 * to *swept; 0, -EINVAL if `first` is not below rl_info.slots, or -EROFS.
 */
struct rl_swept {
	uint64_t seen;    /* slots looked at */
	uint64_t used;    /* of them, still used after the sweep */
	uint64_t retired; /* freed, their window and buffer over */
	uint64_t unused;  /* freed, never charged, half claimed, or of a limit that is gone */
};
int rl_sweep_slots_at(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
                      struct rl_swept *swept);

/*
 * Become the segment's only sweeper while the handle is open. This is an OFD lock, which the kernel
 * drops with the process. 0, or -EBUSY and the other sweeper's pid in *holder (0 if it is unknown or
 * in another pid namespace), -EROFS, -ENOENT for a private segment or if the name is gone.
 */
int rl_supervise(struct rl *rl, pid_t *holder);

/* Record that the sweeper is alive; now_ns 0: that it ends. 0 or -EROFS. */
int rl_heartbeat_at(struct rl *rl, uint64_t now_ns);

/* An active ban or exemption, of rl_ban() or rl_allow(). */
struct rl_ban_info {
	int rule;                  /* or RL_ANY_RULE */
	int is_exemption;          /* else a ban */
	struct rl_pattern pattern; /* key NULL when its record is torn */
	size_t key_len;            /* of the whole key; pattern.key_len is what is kept of it */
	uint64_t until_ns;         /* RL_NEVER_NS: no end */
};

/*
 * The ban or exemption active at `now_ns` for exactly this pattern under this rule, or RL_ANY_RULE.
 * 1 and *info filled, 0 there is none, -EINVAL, RL_EADDRESS.
 */
int rl_ban_info(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t now_ns,
                struct rl_ban_info *info);

/* Call `visit` for each that is active at `now_ns`, as rl_walk() does. */
int rl_bans_walk(struct rl *rl, uint64_t now_ns,
                 int (*visit)(const struct rl_ban_info *ban, void *arg), void *arg);

/*
 * "user:*" is a prefix, "192.0.2.0/24" a network, anything else a key. The pattern points
 * into `text`.
 */
struct rl_pattern rl_pattern_of(const char *text, size_t len);

/* 1 if the pattern matches the key, 0 if not, -EINVAL for a pattern that cannot be. */
int rl_pattern_matches(const struct rl_pattern *pattern, const void *key, size_t key_len);

/* What an override does with the keys it applies to. */
enum rl_override_kind {
	RL_OVERRIDE_CAPACITY = 0,
	RL_OVERRIDE_BANNED = 1,
	RL_OVERRIDE_UNLIMITED = 2,
};

struct rl_override {
	struct rl_pattern pattern;
	enum rl_override_kind kind;
	uint32_t capacity
		[RL_LIMITS_MAX]; /* by limit; 0 leaves the limit's own; as rl_item.capacity */
};

/* A rule of the configuration. */
struct rl_config_rule {
	struct rl_rule rule;
	const struct rl_override *overrides;
	size_t override_count;
};

/* What a configuration does to a rule; the bits combine. */
enum rl_effect {
	RL_EFFECT_NEW = 1,     /* there was no rule of this name, or a removed one */
	RL_EFFECT_ADOPTED = 2, /* an application had defined it */
	RL_EFFECT_CHANGED =
		4, /* capacity, burst, undelayed, prefetch, shadow or count_denied of a limit */
	RL_EFFECT_ANEW = 8,       /* the counters of a limit start anew */
	RL_EFFECT_DROPPED = 16,   /* it loses a limit */
	RL_EFFECT_OVERRIDES = 32, /* its overrides */
};

struct rl_config_outcome {
	uint64_t generation; /* in force now */
	int is_changed;      /* 0: all was so already, and the generation stays */
	unsigned removed;    /* rules that the configuration no longer has */
	size_t rule;         /* on error: the rule at fault, or `count` */
	size_t override;     /* on error: its override at fault, or its override_count */
	uint64_t needed;     /* RL_ERULES, RL_ELIMITS, RL_EOVERRIDES: how many it needs */
};

enum rl_configure_flag {
	RL_CONFIGURE_DRY = 1, /* check, report the effects, change nothing */
};

/*
 * Replace the configured rules, all at once. Decisions that begin afterwards, in any process, use
 * the new rules; a decision under way uses the old or the new ones, never a mixture. A rule that was
 * configured and is not among them falls back to what an application has defined, or is removed.
 * Counters stay, except for limits that are not in force until now: they start anew, even if they
 * were in force earlier or an application has defined them. `effects`, NULL or one for each rule,
 * says what changed.
 *
 * Processes take turns. A process killed midway leaves the old configuration in force. 0, or an
 * error that leaves it in force, too: -EINVAL a field out of range, or a name or pattern twice; RL_ERING;
 * RL_EADDRESS not a network; RL_ERULES, RL_ELIMITS or RL_EOVERRIDES more than the segment holds
 * (limits that are in force until now count, too); -EBUSY another process configures for seconds;
 * -EROFS; -ENOENT the segment's name is gone; -ENOMEM.
 */
int rl_configure(struct rl *rl, const struct rl_config_rule *rules, size_t count, unsigned flags,
                 unsigned *effects, struct rl_config_outcome *outcome);

/*
 * The override that the configuration has for exactly this pattern. 1 and *override filled,
 * 0 there is none, -EINVAL.
 */
int rl_override_info(struct rl *rl, int rule, const struct rl_pattern *pattern,
                     struct rl_override *override);

/* How many overrides the configuration has for the rule. */
uint64_t rl_override_count(struct rl *rl, int rule);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
