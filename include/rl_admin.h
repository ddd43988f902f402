/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADMIN_H
#define RL_ADMIN_H

/*
 * rl for tools: what a segment has counted and for whom, and how to sweep, audit and configure it.
 * Programs that decide need rl.h alone.
 *
 * Calls that only read work on a read-only handle; calls that write return -EROFS there. All may
 * run beside any number of workers, and delay none of them. Their report of a slot was true
 * at one timestamp.
 */

#include <rl_ban.h>
#include <rl_counter.h>
#include <rl_flight.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Where the segment `name` (NULL: "default") is, or would be created by rl_open() with `options`
 * (NULL: the defaults), and what it needs: to explain why there is none.
 */
#define RL_PATH_MAX 192
struct rl_place {
	char path[RL_PATH_MAX]; /* of the file */
	int is_there;           /* there is such a file, whatever it is */
	int is_own;     /* below a directory of rl's own, where no stranger can take a name first */
	uint64_t bytes; /* of a segment with these options */
	uint64_t room;  /* bytes free on the file system there; UINT64_MAX without bounds */
	uint64_t memory; /* bytes that the kernel would still give this process; likewise */
	char memory_by[RL_PATH_MAX]; /* the file that says so: of a control group, or meminfo */
	uint32_t layout;     /* layout version of the segment that is there; 0: none can be read */
	uint32_t revision;   /* of that layout, if it is this library's; else 0 */
	uint32_t own_layout; /* those of this library */
	uint32_t own_revision;
	uint64_t reserved[2];
};

/* 0, -EINVAL, or RL_ETWICE: `path` is then the one in rl's own directory. */
int rl_place(const char *name, const struct rl_options *options, struct rl_place *place);

/* What a segment is. */
#define RL_PID_ELSEWHERE (-1) /* somebody, apparently in another pid namespace */
struct rl_info {
	const char *name;   /* "" for a private segment; lives as long as the handle */
	uint32_t layout;    /* layout version */
	uint64_t bytes;     /* size of the segment */
	uint64_t slots;     /* slots for keys */
	uint32_t ring;      /* entries kept per key */
	uint32_t key_bytes; /* bytes kept of each key */
	uint32_t rules;     /* room for rules */
	uint32_t limits;    /* room for limits of all rules */
	uint32_t overrides; /* room for overrides */
	uint32_t bans;      /* room for at least as many bans and exemptions */
	uint32_t holders;   /* room for processes that hold units in flight */
	enum rl_on_full on_full;
	uint64_t buffer_ns;
	uint64_t created_ns; /* Unix time */
	uid_t owner;         /* of the file; of the process for a private segment */
	gid_t group;
	mode_t mode;           /* permission bits */
	int is_readonly;       /* this handle is */
	uint64_t generation;   /* of the configuration: how often rl_configure() changed it */
	uint64_t heartbeat_ns; /* when rl_heartbeat_at() was last called; 0 never */
	pid_t sweeper;         /* its caller; 0: none, or it has ended as it should; or
	                          RL_PID_ELSEWHERE */
	int huge_pages; /* whether they were asked for at creation, not whether any were given */
	uint32_t rules_used;     /* rules in force, or as applications define them */
	uint32_t limits_used;    /* limits in force, or as applications define them */
	uint64_t overrides_used; /* an override of several limits' capacity takes one for each */
	uint64_t keys; /* that find a slot at the same time: at least as many as asked for */
	uint32_t holders_used; /* seats of processes that hold units in flight, or did and have
	                          ended without rl_close() */
	uint32_t cells;        /* of each limit that has keys without a slot */
	uint32_t reserves; /* how many limits have them at the same time; 0: the overflow area is
	                      none */
	uint32_t events;   /* events that are kept; 0: none are told */
	uint64_t reserve_until_ns; /* from then on no overflow counter counts anything; 0: none ever
	                              has */
	uint64_t events_told;      /* how many events were ever told, those overwritten with them */
	int is_clustered;          /* it was made for a cluster: RL_OPEN_CLUSTER */
	uint32_t ring_asked;   /* the longest ring that a definition has asked for and not found;
	                          0: each has found its own */
	uint64_t slots_before; /* of the table that keys are moving from, beside `slots`; 0: none
	                          are. See rl_resize() of rl_admin.h */
	uint64_t table;        /* how often the segment was resized */
	uint32_t changes;      /* of these, kept apart: rl_changes_read() */
	uint64_t reserved[1];
};

/* Works on any handle. Count bans by rl_bans_walk() of rl_admin.h. */
void rl_info(const struct rl *rl, struct rl_info *info);

/*
 * Compare what a segment is, as rl_info() tells, with what rl_open() was asked for. 0 if it
 * suffices, or RL_ELESS: `text` is then a sentence for people that names each field that does not,
 * such as "keys: 24576, and 1000000 were asked for; ring: 64, and 1000 were asked for", cut to
 * `size` bytes with its NUL. RL_OPEN_TEXT_SIZE bytes hold any. `text` may be NULL, and is empty if
 * all suffices.
 *
 * A field of `asked` that is 0 asks for nothing, and so does NULL. keys, ring, key_bytes, rules,
 * overrides, bans, holders, events, changes and buffer_ns ask for at least so much;
 * RL_KEY_BYTES_NONE that no bytes are kept; RL_FULL_DENY and RL_FULL_ALLOW for that, and nothing
 * else. mode, group and flags ask for nothing.
 *
 * So a program opens as it is, and warns; or it opens with RL_OPEN_AT_LEAST, and rl_open() returns
 * RL_ELESS where this does, also if another process creates the segment meanwhile.
 */
#define RL_OPEN_TEXT_SIZE 512
int rl_open_compare(const struct rl_info *is, const struct rl_options *asked, char *text,
                    size_t size);

/*
 * The options of a segment as it is: to make another of its sizes, or to show and compare it field
 * by field (rl_fields.h). What it has none of is RL_KEY_BYTES_NONE or RL_EVENTS_NONE; `flags` are
 * RL_OPEN_HUGE_PAGES and RL_OPEN_CLUSTER alone, and without RL_OPEN_GROUP `group` asks for nothing.
 */
void rl_info_options(const struct rl_info *info, struct rl_options *options);

/* Where a rule's limits come from. */
enum rl_source {
	RL_SOURCE_APPLICATION = 0,   /* rl_define() */
	RL_SOURCE_CONFIGURATION = 1, /* rl_configure() */
	RL_SOURCE_NONE = 2,          /* removed by rl_configure(): limits nothing */
};

/*
 * The rule with the handle `id`; or, if 0 <= id < rl_info.rules, the rule that has row `id` now, so
 * that a tool can list all rules. Other calls take `handle`. `name` is "" if its record is damaged,
 * or not written yet. 1 filled, 0 no such rule, or no longer.
 */
struct rl_rule_info {
	char name[RL_NAME_MAX + 1];
	enum rl_source source;
	unsigned limit_count;
	struct rl_limit limits[RL_LIMITS_MAX];
	int has_overrides;
	int handle;
	unsigned needs; /* of enum rl_need */
	uint64_t reserved[2];
};
int rl_rule_info(struct rl *rl, int id, struct rl_rule_info *info);

/* What an algorithm has, and how it counts. */
enum rl_algorithm_flag {
	RL_IS_WINDOW = 1,          /* counts in sub-buckets, which leave the window as a whole */
	RL_IS_BUCKET = 2,          /* has one level, which comes back evenly; can be reserved */
	RL_HAS_GRANULARITY = 4,    /* the limit's `granularity` and `hard` mean something */
	RL_HAS_BURST = 8,          /* its `burst` */
	RL_HAS_UNDELAYED = 16,     /* its `undelayed` */
	RL_BURST_IS_CAPACITY = 32, /* a burst of 0 means the capacity, an override's as well */
	RL_HAS_PREFETCH = 64,      /* its `prefetch` */
	RL_HAS_COUNT_DENIED = 128, /* its `count_denied` */
	RL_IS_HELD = 256,          /* counts what is held, without a window: see rl_release() */
	RL_HAS_WINDOW = 512,       /* its `window_ns` */
};

struct rl_algorithm_info {
	size_t size;      /* of this struct in the library: later ones have more at its end */
	const char *name; /* as in configurations and output: "sliding_window" */
	const char *text; /* one sentence for people */
	unsigned flags;   /* of enum rl_algorithm_flag */
	uint32_t capacity_max;
	uint32_t ring_per_unit; /* entries of the ring for each unit of capacity; 0: it takes one
	                           for each sub-bucket */
};
/*
 * What is known of an algorithm; NULL for RL_COUNTER, which is no rule's, and for a number that is
 * none.
 */
const struct rl_algorithm_info *rl_algorithm_info(enum rl_algorithm algorithm);

/*
 * Forget what many keys have used: those under `rule`, which may be a space of counters, or, with
 * RL_ANY_RULE, under all rules and spaces; and of these the keys that the pattern matches, or all
 * of them if `pattern` is NULL. Bans, exemptions and overrides stay.
 *
 * Without a pattern no names are needed. Every key is forgotten, whatever is kept of its name
 * (`key_bytes`), and also what was counted under limits that the rule has no longer. With a
 * pattern, a key is judged by what is kept:
 *
 * - RL_MATCH_PREFIX needs as many of its first bytes as the pattern has. A key of a limit with
 *   prefixes is the text of its network, as in rl_entry.key.
 * - RL_MATCH_NETWORK needs the whole address. A network that lies in the pattern's matches, too, as
 *   limits with prefixes count it. One that the pattern's lies in does not: it has others'
 *   requests.
 * - RL_MATCH_KEY needs nothing: it is rl_reset() under each of the rules.
 *
 * A key that cannot be judged stays as it is, and is counted in `unknown`. So make `key_bytes` as
 * long as the longest prefix that keys are to be reset by.
 *
 * Each key that was there when the call began is forgotten at some instant of it. A key that is
 * charged meanwhile keeps that charge or does not; no decision waits. Units that processes have
 * prefetched are void (see `prefetch`).
 *
 * Without `counts` and without a pattern, a rule is reset in a few microseconds, however many keys
 * there are. Its limits start anew, so in every process the next decision allocates (see "Signals"
 * above). The slots of its keys are freed by the next sweep, or sooner by who needs room; no list
 * shows them. The rule's counter `renewed` counts such a reset, for how many keys it forgets is not
 * known. Each sixteenth of a rule reads all slots, as does one that comes after 262,144 others at a
 * rate of more than one in 20 s.
 *
 * With either of them the cost is linear in the size of the segment. All slots are read, five for
 * three `keys`: some 5 ns each, and some 50 ns for each that is forgotten; it is free at once. With
 * a pattern, the names of all keys under the rule are read, too: some 70 ns each. That is a second
 * for a segment of ten million keys, beside which others decide as before. rl_reset() of one key
 * takes as long as a check.
 *
 * 0, or: -EINVAL no such rule, or not a pattern; RL_EADDRESS not a network, or RL_MATCH_KEY as
 * rl_reset(); -EROFS; -EBUSY other processes kept changing some slots, and all others were
 * forgotten. `counts` may be NULL, and is filled whatever is returned.
 */
struct rl_reset_counts {
	uint64_t forgotten; /* slots: of each key, one for each limit that had counted it */
	uint64_t unknown;   /* slots whose key could not be judged: not all that is needed of its
	                       name is kept */
	uint64_t reserved[2];
};
int rl_reset_matching(struct rl *rl, int rule, const struct rl_pattern *pattern,
                      struct rl_reset_counts *counts);

/*
 * Check a rule without a segment, so that checking a server's configuration does not touch the
 * segment in use. Returns what rl_define() would return in a segment made with `options`: 0,
 * -EINVAL or RL_ERING. NULL means the default options; only `ring` matters. After an error, `text`
 * is a sentence for people that names the field, its value and what is allowed, such as
 * "more[0].capacity: 0; 1 to 268435455 is allowed", cut to `size` bytes with its NUL.
 * RL_RULE_TEXT_SIZE bytes hold any. `text` may be NULL, and is empty without an error.
 */
#define RL_RULE_TEXT_SIZE 256
int rl_rule_check(const struct rl_rule *rule, const struct rl_options *options, char *text,
                  size_t size);

/*
 * The ring that a segment is to have for a rule: an entry for each sub-bucket, two for each unit of
 * a log's capacity, and for units in flight one for each process that may hold some of a key, 64 or
 * the capacity if that is less: fewer do, but one for all of them does not. At least 1; more than
 * RL_RING_MAX for what can be no rule.
 */
uint32_t rl_rule_ring(const struct rl_rule *rule);

/*
 * Check what an item says beside key and cost - its capacity, burst and undelayed - without a
 * segment, so that a server's configuration is refused before any request is. `first` is the first
 * limit of the rule that is to be asked, as its definition or rl_rule_info() has it. Returns the
 * error that a check of the item would have: 0, -EINVAL, or RL_ERING in a segment made with
 * `options` (NULL: the defaults; only `ring` matters). `text` as for rl_rule_check(), such as
 * "burst: 5; sliding_window has none, leaky_bucket and token_bucket have one".
 */
int rl_item_check(const struct rl_limit *first, const struct rl_item *item,
                  const struct rl_options *options, char *text, size_t size);

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
 * rl_entry.denied is exact where it is small, and sampled where it is large, so that a flood of
 * denials writes next to nothing: each denial counts up to 64, one in 4 up to 256, one in 16 up to
 * 1,024, and one in 64 above. rl_entry.denied_error is the standard error: 0 up to 64, some 24 at
 * 256, some 115 at 1,024, and about 8 times the square root of what is far above.
 *
 * rl_entry.denied_recent is how many of them were in a span of ten seconds, which begins at a
 * multiple of ten seconds: the current one if the key was denied in it, else the one before, else
 * 0. It is counted in the same stages, and of 4,096 and more one in 256 and so on.
 */
#define RL_DENIED_SPAN_NS (10 * RL_SECOND)

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
	int rule;        /* -1: no rule has the limit any more */
	unsigned limit;  /* which of the rule's */
	uint64_t slot;   /* as rl_walk_slots() numbers them */
	uint64_t id;     /* the key's hash as kept in the table, to show when the name is lost */
	const void *key; /* the bytes kept of the key; NULL if torn, stale or not kept */
	size_t key_kept; /* bytes at `key` */
	size_t key_len;  /* bytes in the whole key; 0 when `key` is NULL */
	uint32_t used;   /* cost that the limit counts now, whatever the state */
	enum rl_entry_state state;
	int is_state_known; /* 0: a ban or an override may apply, but cannot be looked up: not all
	                       of the name is kept */
	int is_limited;     /* a request of cost 1 would be denied: limited or banned */
	int is_stale;       /* outlived its window and the buffer: free to be retired */
	uint64_t denied;    /* how many requests were denied for it, see RL_DENIED_SPAN_NS */
	uint64_t denied_error;     /* standard error of that; 0: it is exact */
	uint64_t denied_recent;    /* of them, in a span of ten seconds; */
	uint64_t denied_recent_ns; /* so much of it has passed, 1 s to 20 s */
	struct rl_result peek;     /* the result of a request of cost 1, by this limit alone */
	size_t charge_entries;     /* in charge_entry[], oldest first: what rl_restore_at() takes */
	const struct rl_charge_entry *charge_entry;
	uint32_t buckets; /* in bucket[]: sub-buckets, newest first, the last partly out of the
	                     window; 0 for algorithms that have none */
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
 * The key as its record has it, unverified: if the entry has a key, it is this one. Stores the
 * bytes at `key`, which has room for RL_KEY_MAX, and returns how many; *key_len is the whole key's
 * length.
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
 * The same for `count` slots from slot `first` on, for a daemon that walks in slices. The slots of
 * the table before, if keys are moving from it, follow those of the table in force. -EINVAL if
 * `first` is not below the sum of rl_info.slots and slots_before.
 */
int rl_walk_slots(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
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
 * Restore the oldest charges first. The key is rl_entry.key, whole. 0; RL_RESTORED_IN_OVERFLOW: its
 * key has no slot, for the table is full, and an overflow counter counts it with others; or -EINVAL
 * (also of a concurrency limit, whose holders are gone), RL_EADDRESS, -ENOSPC, -EBUSY, -EROFS,
 * -ENOMEM.
 */
#define RL_RESTORED_IN_OVERFLOW 1
int rl_restore_at(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
                  uint64_t cost, uint64_t at_ns);

/*
 * Who holds units in flight of a key: `visit` is called for each process that holds some, under
 * each limit of the rule that is RL_IN_FLIGHT. `state` is of a look at the process just then. A
 * value other than 0 ends
 * it. Returns what the last `visit` returned, or 0; -ENOENT the key has no counter; -EINVAL,
 *     RL_EADDRESS,
 * -ENOMEM; -EBUSY the key changes too fast. The key is as for rl_lookup(). It costs some 10 us for
 * each process.
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

/*
 * The overflow counters of one limit, which count its keys without a slot: see RL_BY_RESERVE. An
 * overflow counter is of several keys, so which they are is not known.
 */
struct rl_overflow_info {
	int rule;            /* -1: no rule has the limit any more */
	unsigned limit;      /* which of the rule's */
	uint64_t until_ns;   /* from then on no overflow counter of it counts anything */
	uint32_t cells;      /* that it has: a multiple of rl_info.cells */
	uint32_t cells_used; /* of them: that count something now */
	uint32_t cells_full; /* of them: all keys without a slot are denied a request of cost 1 */
	uint32_t used_most;  /* what the fullest one counts; above `capacity` with a debt */
	uint32_t capacity;   /* the limit's: the largest cost that is admitted at once */
	uint32_t denied_ppm; /* of a million keys without a slot, and without a use of their own,
	                        so many are denied a request of cost 1 */
};

/*
 * Call `visit` for each limit whose overflow counters count something at `now_ns`. A value other
 * than 0 ends the walk. Returns what the last `visit` returned, or 0. Only reads, and some 300 ns
 * for each overflow counter of such a limit; in a table that has not been full of late, nothing.
 */
int rl_overflow_walk(struct rl *rl, uint64_t now_ns,
                     int (*visit)(const struct rl_overflow_info *info, void *arg), void *arg);

/*
 * What one limit of a rule said no to, since its row began: requests that were denied by it, and
 * those that it would have denied if it were not a shadow. A request that several limits deny is
 * counted under the one that says wait longest. 0, or -EINVAL: no such rule, or limit.
 */
int rl_limit_stats(struct rl *rl, int rule, unsigned limit, uint64_t *denied,
                   uint64_t *shadow_denied);

/*
 * The rule's last hour by minutes, or its last day by quarters of an hour: spans[0 .. n - 1],
 * oldest first, the last one being the current one as far as it has passed. The first decision of a
 * new minute begins it, or a sweep; so nobody needs to be asked in between. Returns n,
 * RL_HISTORY_MINUTES or RL_HISTORY_QUARTERS; -EINVAL no such rule.
 */
#define RL_HISTORY_MINUTES 60
#define RL_HISTORY_QUARTERS 96
struct rl_history_span {
	uint64_t start_ns;
	uint64_t allowed;
	uint64_t denied; /* by limits, but for those below: */
	uint64_t banned; /* of these, because the key is banned */
	uint64_t full; /* because it found no slot, or by what it shares an overflow counter with */
};
int rl_history_minutes(struct rl *rl, int rule, uint64_t now_ns,
                       struct rl_history_span spans[RL_HISTORY_MINUTES]);
int rl_history_quarters(struct rl *rl, int rule, uint64_t now_ns,
                        struct rl_history_span spans[RL_HISTORY_QUARTERS]);

/*
 * Events: what is told to people. The first denial of a key in a minute is one, by a limit or by a
 * ban, unless more than some hundreds are banned at once; so is what befalls
 * the table, and each change of rules and bans. A flood is told of in parts: so many of a kind and
 * rule in a second, and then one in `one_in`.
 */
enum rl_event_kind {
	RL_EVENT_DENIED = 1,     /* by a limit: the first in a minute */
	RL_EVENT_BANNED = 2,     /* by a ban, or by an override that bans: the first in a minute */
	RL_EVENT_FULL = 3,       /* a key found no slot */
	RL_EVENT_RESET = 4,      /* a key, or a rule: the counters were forgotten */
	RL_EVENT_CONFIGURED = 5, /* a configuration came into force */
	RL_EVENT_DEFINED = 6,    /* a program defined a rule: new, or other than it was */
	RL_EVENT_FORGOTTEN = 7,  /* what programs had defined */
	RL_EVENT_BAN_SET = 8,    /* by rl_ban() */
	RL_EVENT_BAN_LIFTED = 9, /* a ban or an exemption, by rl_unban() */
	RL_EVENT_EXEMPTION_SET = 10, /* by rl_allow() */
	RL_EVENT_ORDER = 11, /* for all hosts of a cluster was carried out here: key says which */
	RL_EVENT_STORE_AWAY = 12,     /* what hosts share limits by does not answer */
	RL_EVENT_STORE_BACK = 13,     /* it does; retry_after_ns: for how long it had not */
	RL_EVENT_HOST_JOINED = 14,    /* the cluster; key is its id */
	RL_EVENT_HOST_GONE = 15,      /* from it */
	RL_EVENT_OVERRIDE_SET = 16,   /* by rl_override(): a limit of one key, for a time */
	RL_EVENT_OVERRIDE_LIFTED = 17 /* before its time */
};
#define RL_EVENT_LAST RL_EVENT_OVERRIDE_LIFTED

/* Somebody made it: `author` says who. */
#define RL_EVENT_IS_CHANGE(kind)                                   \
	(((kind) >= RL_EVENT_RESET && (kind) <= RL_EVENT_ORDER) || \
	 ((kind) >= RL_EVENT_OVERRIDE_SET && (kind) <= RL_EVENT_OVERRIDE_LIFTED))

/* Its word, such as "denied"; NULL for a kind that this library does not know. */
const char *rl_event_name(enum rl_event_kind kind);

struct rl_event {
	enum rl_event_kind kind;
	int rule;       /* -1: no rule's, or its row is not in use any more */
	unsigned limit; /* which of the rule's */
	uint64_t time_ns;
	uint64_t number; /* of all that this segment has told, from 0 on */
	uint64_t id;     /* the key's, as rl_entry.id; 0: it had no slot */
	const void *key; /* or the pattern of a ban; NULL: none. Valid until `visit` returns */
	size_t key_kept; /* bytes at `key`: all of them, while the key has its slot */
	size_t key_len;  /* of the whole key */
	uint64_t retry_after_ns; /* of a denial; of what is set for a time, until it ends */
	uint64_t generation;     /* RL_EVENT_CONFIGURED: which one came into force */
	uint32_t one_in;         /* for how many such events this one stands */
	uid_t author;            /* of a change: who made it */
	enum rl_match match;     /* of a ban or an exemption that is set or lifted: what `key` is */
	uint32_t capacity;       /* of an override that is set */
	uint64_t last_ns; /* RL_EVENT_DENIED, RL_EVENT_BANNED: when the key was last denied, to the
	                     second and as far as is known; of others, and at least, time_ns */
};

/*
 * Where somebody reads the events. { 0 } is the oldest that is kept; rl_events_now() is behind the
 * newest.
 */
struct rl_events_cursor {
	uint64_t next;
	uint64_t lost; /* how many were written over before they were read, or never finished; only
	                  adds */
	uint64_t met;  /* an entry that was not finished, + 1 */
};
void rl_events_now(const struct rl *rl, struct rl_events_cursor *cursor);

/*
 * Call `visit` for each event from *cursor on, and move it on. A value other than 0 ends it. No
 * writer ever waits for a reader. `lost` counts events that were written over meanwhile. An event
 * that somebody is just writing ends the call; if it is not finished by the next call, it is
 * counted as lost. Returns what the last `visit` returned, or 0; -ENOENT the segment keeps no
 * events.
 */
int rl_events_read(struct rl *rl, struct rl_events_cursor *cursor,
                   int (*visit)(const struct rl_event *event, void *arg), void *arg);

/*
 * The same of changes alone (RL_EVENT_IS_CHANGE), which are kept apart as well: the last
 * rl_info.changes of them, which no denial writes over, and none left out below 1,000 in a minute.
 * It needs a cursor of its own, and `number` counts changes.
 */
int rl_changes_read(struct rl *rl, struct rl_events_cursor *cursor,
                    int (*visit)(const struct rl_event *event, void *arg), void *arg);

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
 * Another table for a live segment, with room for another number of keys or with a longer ring. It
 * is made beside the one that is there; all processes go over to it by themselves, with their next
 * call, and each key's count moves there when it is next asked for, or by rl_move_slots_at().
 * Nothing is counted twice, or lost, and no decision waits. Rules, bans, statistics and all else
 * stay where they are; so do the overflow area's counters, as many as there are.
 *
 * Both tables take memory until all keys have moved. Then that of the former one is given back.
 */
struct rl_resize {
	uint32_t keys;         /* 1 to RL_KEYS_MAX; 0: as many as there is room for now */
	uint32_t ring;         /* not shorter than it is; 0: as long */
	uint64_t keys_used;    /* set: slots that keys have now */
	uint64_t bytes;        /* set: of the new table, */
	uint64_t bytes_before; /* and of the one in whose place it comes */
	uint64_t reserved[4];  /* 0 */
};

enum rl_resize_flag {
	RL_RESIZE_DRY =
		1, /* only check, and set what is to be set; also on a handle that may not write */
};

/*
 * Make it, and put it into force. 0, or nothing has changed: -EINVAL; RL_ERING a shorter ring;
 * RL_EKEYS too few keys for those that are counted; RL_EMOVING; RL_EMEMORY, -ENOSPC, -EFBIG the
 * memory for both cannot be had; -ENOENT the segment's name is gone, or it is a private one; -EBUSY
 * another process configures for seconds; -EROFS; -EACCES; -ENOMEM this process has no memory or
 * addresses for a table; RL_EDAMAGED what the segment says of its tables cannot be.
 */
int rl_resize(struct rl *rl, struct rl_resize *resize, unsigned flags);

/*
 * Move the keys of `count` slots of the former table from number `first` on; there are
 * rl_info.slots_before, in an order of their own. Any process may, also several at once. Adds to
 * *moving; 0, or 1: no keys are moving; -EINVAL, -EROFS, -ENOMEM. Some 200 ns for each key.
 */
struct rl_moving {
	uint64_t seen; /* slots looked at */
	uint64_t left; /* of them, whose key stays for now: its record is torn, or it finds no
	                  room */
};
int rl_move_slots_at(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
                     struct rl_moving *moving);

/*
 * If all keys have moved, say so, and give back the memory of the former table. 1 done, or no keys
 * were moving; 0: some are there still; -EROFS, -ENOMEM. It reads all tags of that table.
 */
int rl_move_end(struct rl *rl);

/*
 * Become the segment's only sweeper while the handle is open. This is an OFD lock, which the kernel
 * drops with the process. 0, or -EBUSY and the other sweeper's pid in *holder (0 if it is unknown
 * or in another pid namespace), -EROFS, -ENOENT for a private segment or if the name is gone.
 */
int rl_supervise(struct rl *rl, pid_t *holder);

/* Record that the sweeper is alive; now_ns 0: that it ends. 0 or -EROFS. */
int rl_heartbeat_at(struct rl *rl, uint64_t now_ns);

#define RL_REASON_MAX 96 /* bytes of a ban's reason */

/* An active ban or exemption, of rl_ban(), rl_allow() or rl_ban_set(); or of rl_override(). */
struct rl_ban_info {
	int rule;                  /* or RL_ANY_RULE */
	int is_exemption;          /* else a ban */
	struct rl_pattern pattern; /* key NULL when its record is torn */
	size_t key_len;            /* of the whole key; pattern.key_len is what is kept of it */
	uint64_t until_ns;         /* RL_NEVER_NS: no end */
	int has_note;              /* 0: what follows is not known, and 0 */
	uint32_t author;           /* the user who set it */
	uint64_t since_ns;         /* when it was set */
	uint64_t hits;             /* requests that it answered; a peek is none */
	size_t reason_len;
	char reason[RL_REASON_MAX + 1]; /* any bytes, with a NUL behind them */
	int is_automatic;  /* a rule's own, for denials: of one key, and behind each exemption of
	                     it */
	uint32_t capacity; /* other than 0: an override for a time, of rl_override(), of */
	unsigned limit;    /* this limit of the rule, from 0 on */
};

/*
 * Set a ban or an exemption, as rl_ban() and rl_allow() do, with all that rl_bans_walk() tells of
 * one: why, by whom, since when, and hits to count on from, whatever has_note says; since_ns 0
 * stands for now. key_len is not looked at. The note is written once the ban stands: a process that
 * dies in between leaves a ban without one. 0, or as rl_ban(); -EINVAL also for a reason_len of
 * more than RL_REASON_MAX, and for one that is said to be automatic and is no rule's ban of a key.
 * With a capacity it is rl_override(), and returns what that does.
 */
int rl_ban_set(struct rl *rl, const struct rl_ban_info *ban);

/*
 * The ban or exemption active at `now_ns` for exactly this pattern under this rule, or RL_ANY_RULE.
 * 1 and *info filled, 0 there is none, -EINVAL, RL_EADDRESS.
 */
int rl_ban_info(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t now_ns,
                struct rl_ban_info *info);

/*
 * Call `visit` for the one that answers a request of the key under the rule at `now_ns`. What visit
 * returns; 0 also if there is none, or if an override of the configuration answers; or an error, as
 * rl_peek().
 */
int rl_ban_of(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
              int (*visit)(const struct rl_ban_info *ban, void *arg), void *arg);

/* Call `visit` for each that is active at `now_ns`, as rl_walk() does. */
int rl_bans_walk(struct rl *rl, uint64_t now_ns,
                 int (*visit)(const struct rl_ban_info *ban, void *arg), void *arg);

/*
 * The same of overrides for a time. `hits` is 0, and `rule` RL_ANY_RULE where a process died before
 * it had written whose it is. rl_override_of(): the one that is active for exactly this key and
 * this limit of a rule. 1 and *info filled, 0 there is none, -EINVAL.
 */
int rl_overrides_walk(struct rl *rl, uint64_t now_ns,
                      int (*visit)(const struct rl_ban_info *override, void *arg), void *arg);
int rl_override_of(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
                   uint64_t now_ns, struct rl_ban_info *info);

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

#define RL_AUTO_AFTER_MAX 10000
#define RL_AUTO_LONGER_MAX 100

/*
 * Ban a key under its rule when that has denied it `after` times in `within_ns`, at whatever time
 * these begin: for `for_ns`, and each time again `longer` times as long as before, at most
 * `at_most_ns`, until nothing came for that long. Fewer never ban. So many always do in two thirds
 * of `within_ns`, and twice as many in all of it. Limits that are not enforced ban nobody. Whatever
 * ban, exemption or override of the key there is goes before such a ban.
 */
struct rl_auto_ban {
	uint32_t after;      /* 1 to RL_AUTO_AFTER_MAX; 0: no such bans */
	uint32_t longer;     /* 1 to RL_AUTO_LONGER_MAX */
	uint64_t within_ns;  /* a second at least */
	uint64_t for_ns;     /* a millisecond at least */
	uint64_t at_most_ns; /* not less than for_ns */
};

/* A rule of the configuration. */
struct rl_config_rule {
	struct rl_rule rule;
	const struct rl_override *overrides;
	size_t override_count;
	struct rl_auto_ban ban;
};

/* The automatic bans of a rule that are in force. 1 and *ban filled, 0 there are none, -EINVAL. */
int rl_auto_ban_info(struct rl *rl, int rule, struct rl_auto_ban *ban);

/*
 * Forget how often the rule has denied the key of late, and banned it for that: its next automatic
 * ban takes as many denials as the first, and is as long. A ban that stands is left to rl_unban().
 * 1, or 0: there was nothing; -EINVAL, -EROFS, or -EBUSY: others keep denying it.
 */
int rl_auto_ban_forget(struct rl *rl, int rule, const void *key, size_t key_len);

/* What a configuration does to a rule; the bits combine. */
enum rl_effect {
	RL_EFFECT_NEW = 1,     /* there was no rule of this name, or a removed one */
	RL_EFFECT_ADOPTED = 2, /* an application had defined it */
	RL_EFFECT_CHANGED =
		4, /* capacity, burst, undelayed, prefetch, shadow or count_denied of a limit */
	RL_EFFECT_ANEW = 8,       /* the counters of a limit start anew */
	RL_EFFECT_DROPPED = 16,   /* it loses a limit */
	RL_EFFECT_OVERRIDES = 32, /* its overrides */
	RL_EFFECT_AUTO_BAN = 64,  /* its automatic bans */
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
 * the new rules; a decision under way uses the old or the new ones, never a mixture. A rule that
 * was configured and is not among them falls back to what an application has defined, or is
 * removed. Counters stay, except for limits that are not in force until now: they start anew, even
 * if they were in force earlier or an application has defined them. `effects`, NULL or one for each
 * rule, says what changed.
 *
 * Processes take turns. A process killed midway leaves the old configuration in force. 0, or an
 * error that leaves it in force, too: -EINVAL a field out of range, or a name or pattern twice;
 * RL_ERING; RL_EADDRESS not a network; RL_ERULES, RL_ELIMITS or RL_EOVERRIDES more than the segment
 * holds (limits that are in force until now count, too); -EBUSY another process configures for
 * seconds; -EROFS; -ENOENT the segment's name is gone; -ENOMEM.
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
