/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADMIN_H
#define RL_ADMIN_H

/*
 * rl for tools: what a segment is, what is in it, and how to sweep and remove it.
 *
 * What only reads works on a read-only handle; what writes says -EROFS there. All of it may run
 * beside any number of workers, and holds up none of them. What it reports of a slot was true
 * at one timestamp.
 */

#include <rl.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * A segment of this process alone, in anonymous memory: for replaying traffic and
 * for tests. `options` as for rl_open(); mode and group are unused, and so are
 * flags but RL_OPEN_HUGE_PAGES. Its clock starts as the machine's. Close with
 * rl_close(). 0, -EINVAL or -ENOMEM.
 */
int rl_open_private(const struct rl_options *options, struct rl **out);

/*
 * Remove the name, which must be given. Processes that have the segment open keep it until
 * they close it. 0, -EINVAL, -ENOENT, -EACCES, RL_ETWICE or RL_EMOUNT.
 */
int rl_unlink(const char *name);

/*
 * Where the segment `name` (NULL: "default") is, or would be made by who opens it with `options`
 * (NULL: the defaults), and what that takes: to tell people why there is none.
 */
#define RL_PATH_MAX 192
struct rl_place {
	char path[RL_PATH_MAX]; /* of the file */
	int is_there;           /* something is, whatever it may be */
	int is_own;     /* below a directory of rl's own, where no stranger can take a name first */
	uint64_t bytes; /* of a segment with these options */
	uint64_t room;  /* bytes free on the file system there; UINT64_MAX without bounds */
	uint64_t memory; /* bytes that the kernel would still give this process; likewise */
	char memory_by[RL_PATH_MAX]; /* the file that says so: of a control group, or meminfo */
};

/* 0, -EINVAL, or RL_ETWICE: `path` is the one in rl's own directory. */
int rl_place(const char *name, const struct rl_options *options, struct rl_place *place);

#define RL_PID_ELSEWHERE (-1) /* somebody: in another pid namespace, as far as can be seen */
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
	enum rl_on_full on_full;
	uint64_t buffer_ns;
	uint64_t created_ns; /* Unix time */
	uid_t owner;         /* of the file; of the process for a private segment */
	gid_t group;
	mode_t mode;             /* permission bits */
	int is_readonly;         /* this handle is */
	uint64_t generation;     /* of the configuration: how often rl_configure() changed it */
	uint64_t heartbeat_ns;   /* when rl_heartbeat_at() was last called; 0 never */
	pid_t sweeper;           /* by whom; 0 nobody, or it has ended as it should; or
	                            RL_PID_ELSEWHERE */
	int huge_pages;          /* were asked for at creation; not whether any were given */
	uint32_t rules_used;     /* rules in force, or as applications define them */
	uint32_t limits_used;    /* limits in force, or as applications define them */
	uint64_t overrides_used; /* an override of several limits' capacity takes one for each */
	uint64_t keys; /* that find a slot at the same time: at least as many as asked for */
};

/* Bans that stand are counted by rl_bans_walk(). */
void rl_info(const struct rl *rl, struct rl_info *info);

/* Where a rule's limits come from. */
enum rl_source {
	RL_SOURCE_APPLICATION = 0,   /* rl_define() */
	RL_SOURCE_CONFIGURATION = 1, /* rl_configure() */
	RL_SOURCE_NONE = 2,          /* removed by rl_configure(): limits nothing */
};

/*
 * The rule with the handle `id`, or, if 0 <= id < rl_info.rules, the one that has row `id` now: so
 * a tool sees all rules there are. Other calls take `handle`. `name` is "" when its record is
 * damaged, or its definer has not come to it yet. 1 filled, 0 no rule there, or no more.
 */
struct rl_rule_info {
	char name[RL_NAME_MAX + 1];
	enum rl_source source;
	unsigned limit_count;
	struct rl_limit limits[RL_LIMITS_MAX];
	int has_overrides;
	int handle;
};
int rl_rule_info(struct rl *rl, int id, struct rl_rule_info *info);

/*
 * Forget what applications have defined as the rule of that name, which then is as configured, or
 * removed: until one defines it again, its handles limit nothing, and its row may become another
 * rule's. A rule that the configuration alone had needs no such call. 1 forgotten, 0 no application
 * has defined it; -ENOENT, -EINVAL, -EROFS, -EBUSY.
 */
int rl_forget(struct rl *rl, const char *name);

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
 * those this library does not know. They begin with zero when the rule gets its row. 0, or
 * -EINVAL: the row is another rule's by now.
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
 * What becomes of a key's next request, of cost 1: of a rule of several limits, as far as this one
 * goes. For a network of a rule with prefixes it is what holds for all of its addresses.
 */
enum rl_entry_state {
	RL_ENTRY_OPEN = 0,
	RL_ENTRY_LIMITED = 1, /* denied by the limit */
	RL_ENTRY_BANNED = 2,  /* denied by a ban, or an override that bans, whatever it has used */
	RL_ENTRY_EXEMPT = 3,  /* allowed likewise */
	RL_ENTRY_SHADOW = 4,  /* over a limit that is not enforced: allowed */
};

/* One key under one limit, as of `now_ns`. */
struct rl_entry {
	int rule;       /* -1: of a limit that is in no rule any more */
	unsigned limit; /* which of the rule's */
	uint64_t slot;
	uint64_t id;     /* the key's hash as kept in the table, to show when the name is lost */
	const void *key; /* what is kept of the key; NULL when torn, stale or not kept */
	size_t key_kept; /* bytes at `key` */
	size_t key_len;  /* bytes in the whole key; 0 when `key` is NULL */
	uint32_t used;   /* cost that the limit counts now, whatever the state */
	enum rl_entry_state state;
	int is_state_known; /* 0: a ban or an override might say otherwise, but does not know the
	                       key: not all of its name is kept */
	int is_limited;     /* a request of cost 1 would be denied: limited or banned */
	int is_stale;       /* outlived its window and the buffer: free to be retired */
	uint64_t denied;    /* about how many requests were denied for it, see RL_DENIED_SAMPLE */
	struct rl_result peek; /* what a request of cost 1 would be told, by this limit alone */
	size_t charge_entries; /* charges that count below, oldest first: what rl_restore_at() takes */
	const struct rl_charge_entry *charge_entry;
	uint32_t buckets; /* sub-buckets below, newest first, the last partly out of the window; 0
	                         for algorithms that have none */
	uint32_t bucket[RL_GRANULARITY_MAX + 1];
	uint64_t bucket_ns;     /* length of one */
	uint64_t bucket_end_ns; /* when the newest one ends, Unix time */
};

/*
 * What is known of a key before its name and its sub-buckets are looked up, to filter by. The
 * first four are as in rl_entry, the others bounds. Lives until `wants` returns.
 */
struct rl_prefilter {
	int rule;
	unsigned limit;
	uint64_t slot;
	int is_stale;
	uint32_t used_most; /* rl_entry.used is not more */
	uint32_t
		remaining_least; /* rl_entry.peek.remaining is not less; if 0, it may be limited or banned */
	const struct rl *rl; /* whose it is: for the calls below */
};

/* rl_entry.denied is not more. */
uint64_t rl_prefilter_denied_most(const struct rl_prefilter *prefilter);

/*
 * What the record keeps of the key, before it is made sure of that it is the key's: if the entry has
 * a key, then this one. Returns how many bytes it put at `key`, which has room for RL_KEY_MAX;
 * *key_len is the whole key's.
 */
size_t rl_prefilter_key(const struct rl_prefilter *prefilter, void *key, size_t *key_len);

/*
 * Call `visit` for every key in the table that `wants` returned other than 0 for, or for all
 * if that is NULL, in table order. `entry` and its key live until it returns; a value
 * other than 0 ends the walk. A key that is retired or moved during the walk may be
 * missed; none is shown twice at one slot. Returns what the last `visit` returned, or 0.
 *
 * A walk takes about as long as to read the memory, plus some 150 ns for each visit.
 */
int rl_walk(struct rl *rl, uint64_t now_ns,
            int (*wants)(const struct rl_prefilter *prefilter, void *arg),
            int (*visit)(const struct rl_entry *entry, void *arg), void *arg);

/*
 * The entries of one key: one for each limit of the rule that has counted it. Returns the last
 * `visit`'s value, one other than 0 ending it, or -ENOENT, -EINVAL, RL_EADDRESS. Under a rule
 * with prefixes the key may be a network as rl_entry.key shows it.
 */
int rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
              int (*visit)(const struct rl_entry *entry, void *arg), void *arg);

/*
 * Count again what was dumped: charge `cost` at `at_ns` to one limit of a rule, whatever its
 * capacity. Oldest charges first. Key as rl_entry.key shows it, whole. 0, or -EINVAL,
 * RL_EADDRESS, -ENOSPC, -EBUSY, -EROFS, -ENOMEM.
 */
int rl_restore_at(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
                  uint64_t cost, uint64_t at_ns);

/* How many slots are used, without looking at the counters in them. */
uint64_t rl_fill(const struct rl *rl);

/* What cannot be of a whole segment, wherever whoever works on it is, or was killed. */
enum rl_fault {
	/* of a slot */
	RL_FAULT_STATUS = 0,   /* its tag has no status that there is */
	RL_FAULT_FREE = 1,     /* it is free, and its key was not retired */
	RL_FAULT_NO_LIMIT = 2, /* it is of no limit */
	RL_FAULT_NAME = 3,     /* its record is another key's */
	RL_FAULT_SLOT = 4,     /* it is not a slot of its key */
	RL_FAULT_RING = 5,     /* a sub-bucket that counts is not in its ring */
	RL_FAULT_SUM = 6,      /* its sum is not what its ring holds */
	RL_FAULT_ORDER = 7,    /* a time of its log is later than the next */
	RL_FAULT_TWICE = 8,    /* its key has another slot */
	/* of a rule, then of a limit */
	RL_FAULT_REFERENCE = 9, /* it refers to a limit that is not its own */
	RL_FAULT_RULE = 10,     /* its row is there twice, or beyond a gap */
	RL_FAULT_LIMIT = 11,    /* the same of a limit's row */
	RL_FAULTS = 12,
};

/* The same as a sentence for people; NULL for a fault that this library does not know. */
const char *rl_fault_text(enum rl_fault fault);

/* What an audit has seen. */
struct rl_audit {
	uint64_t live;      /* slots that are a key's */
	uint64_t named;     /* of them, those whose record tells the key */
	uint64_t retiring;  /* slots that are being freed, or were left so */
	uint64_t claimed;   /* slots that are being claimed, or were left so */
	uint64_t unsettled; /* slots that changed too fast to be judged */
};

/*
 * Look for faults in all of the table and in the rules, and call `visit` for each: `at` is the
 * slot, as rl_entry.slot, or the number of the rule's row, or of the limit's. A value
 * other than 0 ends the audit. Of a segment that others change meanwhile it tells only what was
 * so at one timestamp; what is under way is no fault. Returns what the last `visit` returned, or
 * 0, or -ENOMEM; *counts is filled as far as the audit came.
 *
 * It takes some 500 ns and 8 bytes of memory for each key.
 */
int rl_audit(struct rl *rl, int (*visit)(enum rl_fault fault, uint64_t at, void *arg), void *arg,
             struct rl_audit *counts);

/*
 * Retire every key whose window and buffer have passed, and free slots that were claimed
 * but not charged, as killed processes leave them; a living one claims again. Returns how
 * many slots it freed, or -EROFS.
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
 * Become the segment's one sweeper, as long as the handle is open: an OFD lock that the kernel
 * drops with the process. 0, or -EBUSY with the other's pid in *holder (0 if it is unknown or of
 * another pid namespace), -EROFS, -ENOENT for a private segment or one whose name is gone.
 */
int rl_supervise(struct rl *rl, pid_t *holder);

/* Say that the sweeper lives; with now_ns 0 that it ends. 0 or -EROFS. */
int rl_heartbeat_at(struct rl *rl, uint64_t now_ns);

/* What stands against a pattern: of rl_ban() and rl_allow(). */
struct rl_ban_info {
	int rule;                  /* or RL_ANY_RULE */
	int is_exemption;          /* else a ban */
	struct rl_pattern pattern; /* key NULL when its record is torn */
	size_t key_len;            /* of the whole key; pattern.key_len is what is kept of it */
	uint64_t until_ns;         /* RL_NEVER_NS: no end */
};

/*
 * What stands at `now_ns` for exactly this pattern under this rule, or under RL_ANY_RULE: 1 and *info
 * filled, 0 nothing does, -EINVAL, RL_EADDRESS.
 */
int rl_ban_info(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t now_ns,
                struct rl_ban_info *info);

/* Call `visit` for each that stands at `now_ns`, as rl_walk() does. */
int rl_bans_walk(struct rl *rl, uint64_t now_ns,
                 int (*visit)(const struct rl_ban_info *ban, void *arg), void *arg);

/*
 * "user:*" is a prefix, "192.0.2.0/24" a network, anything else a key. The pattern points
 * into `text`.
 */
struct rl_pattern rl_pattern_of(const char *text, size_t len);

/* 1 if the pattern matches the key, 0 if not, -EINVAL for a pattern that cannot be. */
int rl_pattern_matches(const struct rl_pattern *pattern, const void *key, size_t key_len);

/* What the configuration says of some keys of a rule. */
enum rl_override_kind {
	RL_OVERRIDE_CAPACITY = 0,
	RL_OVERRIDE_BANNED = 1,
	RL_OVERRIDE_UNLIMITED = 2,
};

struct rl_override {
	struct rl_pattern pattern;
	enum rl_override_kind kind;
	uint32_t capacity[RL_LIMITS_MAX]; /* by limit; 0 leaves the limit's own; as a tier's */
};

/* A rule of the configuration. */
struct rl_config_rule {
	struct rl_rule rule;
	const struct rl_override *overrides;
	size_t override_count;
};

/* What a configuration does to a rule; the bits combine. */
enum rl_effect {
	RL_EFFECT_NEW = 1,        /* there was none of this name, or a removed one */
	RL_EFFECT_ADOPTED = 2,    /* an application had defined it */
	RL_EFFECT_CHANGED = 4,    /* capacity, burst, undelayed or shadow of a limit */
	RL_EFFECT_ANEW = 8,       /* a limit whose counters start anew */
	RL_EFFECT_DROPPED = 16,   /* a limit it has no longer */
	RL_EFFECT_OVERRIDES = 32, /* its overrides */
};

struct rl_config_outcome {
	uint64_t generation; /* that holds now */
	int is_changed;      /* else all was so already, and the generation stays */
	unsigned removed;    /* rules that the configuration had, and has no longer */
	size_t rule;         /* on error: the rule at fault, or `count` */
	size_t override;     /* on error: its override at fault, or its override_count */
	uint64_t needed;     /* RL_ERULES, RL_ELIMITS, RL_EOVERRIDES: how many are wanted */
};

enum rl_configure_flag {
	RL_CONFIGURE_DRY = 1, /* check and say what it does, and leave all as it is */
};

/*
 * Make these the configured rules, all at once: every decision of every process that begins
 * after it is made by them, none by half of them, and one that is under way by the old ones or
 * the new. A rule that was configured and is not among them falls back to what an application
 * has defined, or is removed. Counters stay, except of limits whose shape is new: those that were
 * not in force until now start anew, also if they were before, or an application has defined them.
 * `effects`, NULL or one for each rule, says what it did.
 *
 * Processes take turns. One that is killed in it leaves the old configuration. 0, or, the old one
 * standing: -EINVAL a field out of range, or a name or pattern twice; RL_ERING; RL_EADDRESS a
 * network that is none; RL_ERULES, RL_ELIMITS or RL_EOVERRIDES more than the segment holds, of
 * limits those in force until now counted, too; -EBUSY another process is at it for seconds;
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
