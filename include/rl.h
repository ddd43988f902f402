/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_H
#define RL_H

/*
 * rl - one rate limit shared by all worker processes of a host.
 *
 * The counters live in a POSIX shared-memory segment. Every decision is made inside the calling
 * process, without a lock, a server or a system call beyond reading the clock, and a process that
 * is killed or stopped at any instruction holds up nobody. The first process that opens a segment
 * creates it.
 *
 *	#include <rl.h>
 *
 *	struct rl *rl;
 *	if (rl_open("web", NULL, &rl) < 0)
 *		return -1;
 *	int login = rl_define(rl, &(struct rl_rule){.name = "login",
 *		.limit = {.capacity = 100, .window_ns = 60 * RL_SECOND}});
 *	struct rl_result result;
 *	switch (rl_check(rl, login, user, strlen(user), 1, &result)) {
 *	case RL_ALLOWED:   serve(); break;
 *	case RL_UNDECIDED: log_it(rl_strerror(result.error)); serve(); break;
 *	default:           refuse_for(result.retry_after_ns); break;
 *	}
 *
 * Beside this header: rl_flight.h (limits of what is in flight), rl_counter.h (counters by key,
 * without a limit), rl_ban.h (bans and exemptions), rl_http.h (answers and clients of HTTP),
 * rl_fields.h (these structures by name), rl_admin.h and rl_cluster.h (for tools). rl(3) lists all
 * calls, and each has a manual page. rl(7) says what an algorithm counts and a full table does.
 *
 * What holds
 *
 * - With `hard`, no span of time as long as the window ever holds more than `capacity` admitted
 *   cost, however many processes race, die or stop. A key keeps its counter until it is reset,
 *   idle for a window and the buffer.
 * - A denial writes nothing to the counter (but with `count_denied`, or where dead processes held
 *   units): a flood on a blocked key costs reads.
 * - A killed process has charged at most the one request it was deciding.
 * - Bytes in the segment are outside input: damage can make a count wrong, never make a call crash,
 *   hang or leave the segment.
 *
 * What to know, and the remedy
 *
 * - fork: open before or after it, both work; a child uses the parent's handle.
 * - Threads may share a handle, except for rl_close(), which unmaps the segment: a call that
 *   another thread is in, or makes later, is a SIGSEGV.
 * - Signals: no decision takes a lock. It allocates only at the process's first use of a limit, of
 *   which rl_define() is one, and of one that starts anew (another shape, rl_configure(),
 *   rl_reset_matching()); if the library was loaded by dlopen(3), at a thread's first denial, too.
 *   After that a signal handler may decide, but not by a limit of what is in flight.
 * - A full table: a key has 16 candidate slots. When all are used by keys that count, `on_full`
 *   decides, and a counter counts it. By default the key is counted with others, which never admits
 *   too much (RL_BY_RESERVE). -ENOSPC in `error`: answered without a counter. Remedy: more `keys`.
 * - Clock: CLOCK_BOOTTIME, shifted once, at creation, to Unix time: windows align to the wall
 *   clock, and no later step of it moves them. A time of your own has to be on that scale. A
 *   request counts at its time, or at the newest of what it is counted with, if that is later: one
 *   that is behind never takes a counter back, and one that is ahead moves its key's window for
 *   all. Other time namespaces are reckoned with; who enters one later opens the segment anew.
 * - Versions: a segment of another layout is refused (RL_EVERSION), never converted. Remedy:
 *   rl_unlink() it once nobody uses it. A program runs with each later library of its soname: what
 *   a later one adds takes words of `reserved`, which a program leaves at 0, or has a flag of its
 *   own; and an earlier one refuses (-EINVAL) what it does not know.
 * - A process that may write the segment may also truncate it, and then every user of it receives
 *   SIGBUS. Give write access to your own workers alone.
 *
 * Any thread of any process may make any call at any time, except as said above. Calls that set up
 * return 0, or a number from 0 on, or a negative errno value; `errno` itself means nothing.
 */

#if __SIZEOF_POINTER__ < 8
#error "rl is for 64-bit machines: x86-64 (but not x32) and arm64"
#endif

#include <errno.h>
#include <rl_bounds.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rl; /* a segment that this process has open */

/* Errors are negative errno values. These are a segment's own, each a different errno. */
#define RL_EFOREIGN (-EBADMSG)         /* the file is not an rl segment */
#define RL_EVERSION (-EPROTONOSUPPORT) /* another layout version, revision or build */
#define RL_ETRUNCATED (-ENODATA)       /* shorter than its header says */
#define RL_EDAMAGED (-EUCLEAN)         /* its header contradicts itself */
#define RL_EBOOT (-ESTALE)             /* copied from another boot: its clock is gone */
#define RL_ECLOCK (-ETIME)             /* of another time namespace, its clock unknown here */
#define RL_EOWNER (-EKEYREJECTED)      /* made by somebody else: see rl_open() */
#define RL_EPUBLIC (-EKEYREVOKED)      /* everybody may read or write it */
#define RL_EDIRECTORY (-ENOKEY)        /* segments belong in /dev/shm/rl: no permission there */
#define RL_ETWICE (-ENOTUNIQ)          /* one in /dev/shm/rl, another in /dev/shm */
#define RL_EMOUNT (-EMEDIUMTYPE)       /* /dev/shm is mounted read-only */
#define RL_EMEMORY (-EDQUOT)           /* the control group or the machine has too little left */
#define RL_ECREATE (-EOPNOTSUPP)       /* no /dev/shm, or no /proc, to create it with */
#define RL_ERING (-E2BIG)              /* its ring is too short for the rule */
#define RL_EADDRESS (-EAFNOSUPPORT)    /* the key is no IP address, as the rule wants it */
#define RL_EREMOVED (-EIDRM)           /* the configuration has the rule no longer */
#define RL_ERULES (-EUSERS)            /* the segment has no room for another rule */
#define RL_ELIMITS (-EXFULL)           /* the segment has no room for another limit */
#define RL_EOVERRIDES (-ENOBUFS)       /* the segment has no room for another override */
#define RL_EBANS (-ENOSR)              /* no slot is left for this ban or exemption */
#define RL_EEMPTY (-EDESTADDRREQ)      /* the key has no bytes */
#define RL_ECOST (-ETOOMANYREFS)       /* the decision would take too many steps: damage */
#define RL_ELESS (-ERANGE)             /* the segment is less than was asked: RL_OPEN_AT_LEAST */
#define RL_EDEFINED (-EADDRINUSE)      /* the rule is defined already, with other limits */
#define RL_ECLUSTER (-ENONET)          /* the segment was not made for a cluster */
#define RL_EKEYS (-ENOTEMPTY)          /* more keys are counted than that is room for */
#define RL_ECHARGES (-EUNATCH)         /* the rule needs a place for charges: RL_NEEDS_CHARGES */
#define RL_ESETTLED (-EALREADY)        /* the charges were settled before */
#define RL_EACTUAL (-EOVERFLOW)        /* a cost to settle to that cannot be counted */
#define RL_EMOVING (-EINPROGRESS)      /* keys are on their way to another table still */
#define RL_EITEMS (-EMLINK)            /* more than RL_ITEMS_MAX items, or limits of all of them */

/* What to do when all 16 candidate slots of a key are used. See "A full table" in rl(7). */
enum rl_on_full {
	RL_FULL_RESERVE = 0, /* count it together with others in an overflow counter of its limit,
	                        which never admits too much and may deny too early. A key of a rule
	                        that has at least two more of the slots gives way */
	RL_FULL_DENY = 1,    /* deny the request */
	RL_FULL_ALLOW = 2,   /* allow it, uncounted */
};

/* How rl_open() behaves; combine with |. */
enum rl_open_flag {
	RL_OPEN_READONLY = 1,    /* map without write permission, and never create: look only */
	RL_OPEN_EXISTING = 2,    /* never create */
	RL_OPEN_GROUP = 4,       /* give a new segment to `group`, and trust one that another member
	                            has made */
	RL_OPEN_ANY_OWNER = 8,   /* trust any owner: for tools run by an administrator */
	RL_OPEN_HUGE_PAGES = 16, /* ask for huge pages for a new segment, or do without: rl(7) */
	RL_OPEN_POPULATE = 32,   /* map each page at once, in some 0.2 s a GiB: no request waits */
	RL_OPEN_AT_LEAST = 64,   /* refuse a segment that is less than these options ask for */
	RL_OPEN_CLUSTER = 128,   /* a new one may have limits of a cluster: 16 bytes more a slot */
};

/*
 * Options used only when the segment is created. An existing segment is attached as it is and keeps
 * its own values; with RL_OPEN_AT_LEAST, only if they suffice. Zero means the default.
 */
struct rl_options {
	uint32_t keys; /* that find a slot at the same time */
	uint32_t ring; /* entries kept per key, at most RL_RING_MAX: one for each sub-bucket, two
	                       for each unit of a log's capacity, and in flight one for each
	                       process that may hold a key's: see rl_rule_ring(). 0: 1 */
	uint32_t key_bytes; /* kept of a key for people, at most RL_KEY_MAX; or RL_KEY_BYTES_NONE */
	uint32_t rules;     /* to hold; of limits, 16 times that, at most RL_RULES_MAX */
	uint32_t overrides; /* per-key settings to hold */
	uint32_t bans;      /* bans and exemptions to hold */
	uint32_t holders;   /* processes that hold units in flight at the same time */
	enum rl_on_full on_full;
	uint64_t buffer_ns; /* how long a counter outlives its window */
	mode_t mode;        /* permission bits, whatever the umask. An existing segment may be open
	                       to everybody only if this has those bits */
	gid_t group;        /* only with RL_OPEN_GROUP */
	unsigned flags;     /* of enum rl_open_flag */
	uint32_t cells;     /* RL_FULL_RESERVE only: of a set of overflow counters; a power of two.
	                       0: so many that all take a seventh of the table's memory at most, or
	                       128 bytes for each slot up to 4 MiB, if that is more */
	uint32_t reserves;  /* RL_FULL_RESERVE only: sets, of which a limit that has keys without a
	                       slot takes one, or 2, 4 ... if enough are left for others: so many
	                       limits have overflow counters at the same time, at most. 0: 64, or
	                       RL_RESERVES_OF_CELLS where `cells` is said */
	uint32_t events; /* events to keep for rl_events_read(), 64 bytes each; or RL_EVENTS_NONE */
	uint32_t changes; /* of these, to keep apart for rl_changes_read() */
	uint64_t reserved[2];
};

enum rl_algorithm {
	RL_SLIDING_WINDOW = 0,  /* of `granularity` sub-buckets: an estimate, or `hard` */
	RL_FIXED_WINDOW = 1,    /* from one multiple of the window to the next */
	RL_SLIDING_LOG = 2,     /* exact: the time of each unit of cost */
	RL_TOKEN_BUCKET = 3,    /* holds `burst` tokens, and fills with `capacity` a window */
	RL_LEAKY_BUCKET = 4,    /* lets through `capacity` a window, and `burst` may wait */
	RL_ANCHORED_WINDOW = 5, /* a fixed window that begins with the key's first request */
	RL_COUNTER = 6,         /* of rl_counter.h, and no rule's */
	RL_IN_FLIGHT = 7,       /* what is held at the same time: rl_flight.h */
};
#define RL_ALGORITHM_LAST RL_IN_FLIGHT

enum rl_counts {
	RL_COUNTS_COST = 0,     /* what it costs */
	RL_COUNTS_REQUESTS = 1, /* one, whatever it costs, and is settled to */
};

/* For whom a limit is one. */
enum rl_scope {
	RL_SCOPE_HOST = 0,    /* all processes of the host */
	RL_SCOPE_CLUSTER = 1, /* all hosts that rld(8) connects to one store */
};

/* What a share of a cluster's capacity is worth while the store cannot be reached. */
enum rl_away {
	RL_AWAY_LOCAL_SHARE = 0, /* the capacity by the number of hosts there were, at least 1 */
	RL_AWAY_KEEP = 1,        /* what it was */
	RL_AWAY_OPEN = 2,        /* the capacity: each host by itself */
	RL_AWAY_CLOSED = 3,      /* nothing */
};

#define RL_BLIND_AUTO UINT32_MAX /* of rl_limit.blind */

/*
 * A limit: `capacity` per window. rl(7) says how each algorithm counts. Algorithm, window,
 * granularity, hardness, scope and prefixes are its shape, and a counter belongs to one shape. What
 * else is here may change at any time without touching a counter.
 */
struct rl_limit {
	enum rl_algorithm algorithm;
	uint32_t capacity;    /* cost admitted per window, 1..RL_CAPACITY_MAX; in_flight: held at
	                       once, 1..RL_IN_FLIGHT_MAX */
	uint64_t window_ns;   /* RL_WINDOW_MIN..RL_WINDOW_MAX: 10 ms to 400 days, made longer by
	                       less than `granularity` ns if that does not divide it;
	                       anchored_window: or RL_NEVER_NS; in_flight: 0 */
	uint32_t granularity; /* sub-buckets of a sliding_window, 1..RL_GRANULARITY_MAX; 0 is 1 */
	int hard;             /* sliding_window: count the oldest sub-bucket in full: no window ever
	                       holds more than the capacity; a denial may be a sub-bucket early */
	uint32_t burst;     /* token_bucket: tokens held, 0 means capacity; leaky_bucket: cost that
	                       may wait. To fill it must take no more than 100 years */
	uint32_t undelayed; /* leaky_bucket: how much of `burst` need not wait; at most burst */
	int shadow;         /* evaluated and counted, never enforced: always allowed */
	uint8_t prefix_v4;  /* bits, 1..32: the key is an IP address in text, and what is counted
	                       is its network; 0: IPv4 is not counted. Of a rule's limits all
	                       have prefixes or none has. ::ffff:192.0.2.1 is 192.0.2.1 */
	uint8_t prefix_v6;  /* bits, 1..128; 0: IPv6 is not counted */
	uint16_t prefetch;  /* sliding_window, fixed_window: units that each process may prefetch,
	                       at most RL_PREFETCH_MAX and, times granularity, an
	                       RL_PREFETCH_PART of the capacity; only of a rule's one limit, no
	                       shadow, without count_denied. 0: none. See rl_prefetch_return() */
	int count_denied;   /* fixed_window, anchored_window: count denied requests, too, but no
	                       cost above the capacity: `used` goes beyond the limit */
	uint16_t scope;     /* of enum rl_scope. RL_SCOPE_CLUSTER: see "Clusters" in rl(7); not of
	                       every algorithm (-EINVAL), nor in every segment (RL_ECLUSTER) */
	uint16_t away;      /* RL_SCOPE_CLUSTER: of enum rl_away */
	uint32_t blind;     /* RL_SCOPE_CLUSTER: what each host may admit beside its share, at most
	                       the capacity; rounded down above 1,023, by less than a 512th. 0:
	                       strict, nothing. RL_BLIND_AUTO: a part of a twentieth of the
	                       capacity by the number of hosts, of RL_BLIND_AUTO_MAX at most */
	uint32_t counts;    /* of enum rl_counts */
	uint64_t wait_ns; /* RL_SCOPE_CLUSTER: how long one may come again for a share, 1 ms to 1 s
	                       in ms, or RL_WAIT_NONE; 0: RL_WAIT_USUAL, but by RL_ITEM_SLEEPS */
	uint64_t reserved[3];
};

/* How rl_define() treats a rule that is defined already. */
enum rl_define_flag {
	RL_DEFINE_KEEP = 1, /* the first definition stays: refuse one that differs */
};

/* What a rule needs of who asks about it; the bits combine. */
enum rl_need {
	RL_NEEDS_CHARGES = 1, /* a place for what is charged (rl_item.charges): it has a limit of
	                         what is in flight. So rl_check_item(), never rl_check() */
	RL_NEEDS_ADDRESS = 2, /* keys that are IP addresses in text: its limits have prefixes */
};

/* A rule: a name, and one to RL_LIMITS_MAX limits that all have to allow a request. */
struct rl_rule {
	const char *name; /* 1..63 letters, digits and . _ - : / */
	struct rl_limit limit;
	const struct rl_limit *more; /* further limits, or NULL */
	size_t more_count;
	unsigned flags;  /* of enum rl_define_flag; a configuration has no use for them */
	unsigned *needs; /* NULL, or gets what the rule needs as it is in force, of enum rl_need */
	uint64_t reserved[2];
};

enum rl_verdict {
	RL_ALLOWED = 0,
	RL_DENIED = 1,    /* not now: see retry_after_ns */
	RL_NEVER = 2,     /* the cost is above the capacity; nothing was touched */
	RL_UNDECIDED = 3, /* `error` says why; to fail open or closed is your choice */
};

/*
 * What a request was charged, by each limit that charged it, for rl_refund(). The entries are
 * opaque: of 32 bytes each, so that a program keeps no more than `count` of them. They hold for the
 * segment.
 */
struct rl_charge {
	uint64_t key; /* its hash */
	uint64_t epoch;
	uint32_t cost;
	uint32_t capacity;
	uint32_t memory;
	uint16_t limit;
	uint8_t gen;
	uint8_t place;
};

struct rl_charges {
	unsigned count;  /* 0: nothing was charged */
	int settled;     /* rl_settle() was there. Each decision sets it to 0 */
	uint64_t now_ns; /* when they are given back; 0: now. Each decision sets it to 0 */
	struct rl_charge charge[RL_LIMITS_MAX];
};

enum rl_reason {
	RL_BY_LIMIT = 0,
	RL_BY_BAN = 1,       /* denied, and no counter was read: see rl_ban() */
	RL_BY_EXEMPTION = 2, /* allowed, and no counter was read: see rl_allow() */
	RL_BY_RESERVE = 3,   /* by a limit's overflow counter: the key has no slot. See below */
	RL_BY_SHARE = 4,     /* by a limit of a cluster: more of it is asked for; RL_ITEM_WAITS */
};

struct rl_result {
	enum rl_verdict verdict;
	int error; /* 0, or why: -ENOSPC table full, no room for a holder; -EINVAL, -EROFS, ... */
	enum rl_reason reason;
	unsigned index;     /* of the limit that decided; the fields below describe it */
	uint32_t limit;     /* the largest cost that is ever allowed at once */
	uint32_t remaining; /* cost still free now, see below */
	uint32_t used;      /* cost that counts now, this request's if it was counted; above `limit`
	                       with a debt, with denials that count, or once it is lowered */
	int is_shadow_denied;    /* a shadow limit would have denied it */
	uint64_t retry_after_ns; /* 0 if allowed, or not known (in_flight); RL_NEVER_NS: never */
	uint64_t reset_after_ns; /* until nothing counts; 0 if nothing does, or not known */
	uint64_t delay_ns;       /* allowed by a bucket: to wait; RL_BY_SHARE: to come again */
	uint64_t window_ns; /* of the limit as it is now; 0 if the rule has none, or the limit is
	                       in flight; RL_NEVER_NS if it has no end */
};

/*
 * Of several limits, the one that denies longest decides. If none denies, the one with the least
 * remaining does. A shadow limit decides only if all are shadows. delay_ns is the longest of any. A
 * request that a shadow would have denied is allowed; its other fields are as if denied.
 *
 * retry_after_ns is exact, but of what is in flight: with no other traffic, the same request is
 * denied 1 ns before it and allowed at it. With RL_BY_BAN it is when no ban or override bans the
 * key any more, and the limits decide. With RL_BY_RESERVE others may be counted in what is told:
 * used and retry_after_ns are never too little, remaining never too much, and a charge is given
 * back to nobody.
 *
 * remaining is never overstated. It is the largest cost that would be allowed now; but after an
 * admission by an estimate of several sub-buckets it counts the oldest in full. What other
 * processes have prefetched counts as used.
 */

/*
 * Open the segment `name` (NULL: "default"), creating it when absent. `options` may be NULL. On
 * success *out is a handle to pass to rl_close(). Processes that create at the same time end up in
 * one segment, and a creator that is killed leaves nothing. It is a file in /dev/shm/rl, if that
 * directory belongs to root, so that no stranger takes a name first; else in /dev/shm.
 *
 * A segment that may be a stranger's is refused: RL_EOWNER, unless it is root's, the caller's own,
 * or with RL_OPEN_GROUP one of `group`; and RL_EPUBLIC if everybody may read or write it, unless
 * `mode` has that bit, for it shows the hash key. RL_OPEN_ANY_OWNER accepts these.
 *
 * 0, or: -EINVAL bad name or option, a mistake of the caller. Every other error may go away while
 * the process runs, so a server starts without, and tries again: -ENOENT absent and not to be
 * created; -EACCES; -ENOSPC no room in /dev/shm, RL_EMEMORY in the control group or the machine:
 * nothing is left behind; RL_EFOREIGN, RL_EVERSION, RL_ETRUNCATED, RL_EDAMAGED, RL_EBOOT,
 * RL_ECLOCK; RL_EOWNER; RL_EPUBLIC; RL_EDIRECTORY; RL_ETWICE; RL_EMOUNT; RL_ECREATE; RL_ELESS;
 * -EFBIG above RLIMIT_FSIZE; -EPERM not a member of `group`; -EMFILE; -ENOMEM; -EIO no random
 * bytes; -EAGAIN the name kept changing.
 */
int rl_open(const char *name, const struct rl_options *options, struct rl **out);

/*
 * Detach. The segment and its counters stay, other processes go on. NULL is fine. No other thread
 * and no signal handler may be in a call with this handle.
 */
void rl_close(struct rl *rl);

/*
 * A segment of this process alone, in anonymous memory: for replaying traffic and for tests. Of
 * `options`, mode, group and flags but RL_OPEN_HUGE_PAGES mean nothing. 0, -EINVAL or -ENOMEM.
 */
int rl_open_private(const struct rl_options *options, struct rl **out);

/*
 * Remove the name, which must be given. Processes that have the segment open keep it until
 * they close it. 0, -EINVAL, -ENOENT, -EACCES, RL_EFOREIGN a directory, RL_ETWICE or RL_EMOUNT.
 */
int rl_unlink(const char *name);

/*
 * Define a rule, and return its handle: a number >= 0 that every later call takes. It may be called
 * on first use. The name is the rule: defining it again returns the same handle, and where the
 * limits differ, replaces them for all processes from their next decision on. A limit whose shape
 * is as before keeps its counters; one with another shape starts anew. So programs that define one
 * rule differently reset it for each other (the rule's counter `redefined` says so): use a
 * configuration, two names, or RL_DEFINE_KEEP, with which the first definition stays, and one that
 * differs is RL_EDEFINED.
 * A rule that the administrator has configured stays as it is configured; this definition applies
 * again if the configuration drops the rule.
 *
 * Negative: -EINVAL a field out of range; RL_ERING the segment's ring is too short for it;
 * RL_ERULES, RL_ELIMITS no room for another; RL_ECLUSTER; -EBUSY other processes define or
 * configure for seconds, or keep changing the rule; -EEXIST the name is that of counters by key;
 * RL_EDEFINED; -EROFS read-only; -ENOMEM. If no unused row is left for rules or limits, a
 * definition reads all slots, some 5 ns each.
 */
int rl_define(struct rl *rl, const struct rl_rule *rule);

/* The handle of the rule with this name; -ENOENT if there is none. */
int rl_find(struct rl *rl, const char *name);

/*
 * Forget what applications have defined as the rule of that name. It is then as configured, or
 * removed: its handles limit nothing. 1, 0 none has; -ENOENT, -EINVAL, -EROFS, -EBUSY.
 */
int rl_forget(struct rl *rl, const char *name);

/*
 * Decide one request of `cost` by `key` (1..RL_KEY_MAX bytes, any bytes) under `rule`, and charge
 * it to all of the rule's limits, or to none. Returns the verdict; `result` may be NULL.
 *
 * An empty key is not limited: allowed, with RL_EEMPTY in `error`, nothing counted. Cost 0 is a
 * peek. A cost above the capacity is RL_NEVER. RL_UNDECIDED, with `error`: -ENAMETOOLONG the key is
 * too long; RL_EADDRESS it is no address; -EINVAL there is no such rule, or it is counters';
 * RL_ECHARGES the rule needs a place for charges: rl_check_item(); -EROFS the handle cannot charge;
 * -ENOSPC, by `on_full`; -EBUSY other processes keep changing the key; RL_ECOST the segment is
 * damaged; -ENOMEM, of a process's first use of a limit, some 150 bytes that stay until rl_close().
 * A rule that the configuration has dropped, or whose row has another rule by now, limits nothing:
 * allowed, with RL_EREMOVED.
 */
enum rl_verdict rl_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                         struct rl_result *result);

/* What a request of cost 1 is told: charges and creates nothing. Works on a read-only handle. */
enum rl_verdict rl_peek(struct rl *rl, int rule, const void *key, size_t key_len,
                        struct rl_result *result);

/*
 * Book `cost` for the earliest time at which it is available, at most `max_wait_ns` from now:
 * allowed with the time to wait in delay_ns, or denied. token_bucket and leaky_bucket only, and for
 * all of a rule's limits; others, and those of a cluster, are RL_UNDECIDED with -EINVAL. A booking
 * is charged at once, and counts for the requests after it until rl_refund().
 */
enum rl_verdict rl_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                           uint64_t max_wait_ns, struct rl_result *result);

/*
 * One rule of one request: a key under it, and what this request alone wants. A `capacity` other
 * than 0 replaces that of the rule's first limit, for a customer's tier (token_bucket: its burst,
 * too). `burst` and `undelayed` replace those of the first limit if `flags` says so, as where
 * several places of a server share one rate and each has a burst of its own. If the first limit
 * does not count the key's address family, all three are ignored. The counter is the same. A key
 * that has a capacity of its own in the configuration keeps it, and of a token bucket the burst.
 * Tools are told the capacity that a key's last request brought along (rl_entry.tier).
 *
 * -EINVAL: a capacity above RL_CAPACITY_MAX, a burst or undelayed for an algorithm that has none, a
 * burst of RL_CAPACITY_MAX or more, undelayed above the burst, an unknown flag or what it is not
 * for. RL_ERING: a capacity above half the ring, of a sliding log.
 */
enum rl_item_flag {
	RL_ITEM_BURST = 1, /* `burst` counts, also if it is 0. token_bucket: 0 means the capacity */
	RL_ITEM_UNDELAYED = 2, /* leaky_bucket: `undelayed` counts, also if it is 0 */
	RL_ITEM_SPEND = 4,     /* count it whatever is left: it is spent; see rl_check(3) */
	RL_ITEM_CLAMP = 8,     /* a cost above what a limit ever allows is all that it allows */
	RL_ITEM_LEAVE = 16, /* leave `leave` thousandths of each limit to requests without this */
	RL_ITEM_WAITS = 32, /* denied with RL_BY_SHARE, the caller comes again after retry_after_ns,
	                       as long as delay_ns, and counts as denied without this alone */
	RL_ITEM_SLEEPS = 64, /* only as `wait_ns` says: the call sleeps; with both, its caller */
};

struct rl_item {
	int rule;
	const void *key;
	size_t key_len;
	uint64_t cost;
	uint64_t now_ns; /* when, on rl_now()'s scale; 0: now. Beyond 2^63 - 1 counts as that */
	uint32_t capacity;
	uint32_t burst;             /* with RL_ITEM_BURST */
	uint32_t undelayed;         /* with RL_ITEM_UNDELAYED */
	unsigned flags;             /* of enum rl_item_flag */
	struct rl_charges *charges; /* NULL, or gets what is charged, for rl_refund(); of several
	                               items each has its own */
	uint32_t leave;             /* with RL_ITEM_LEAVE, 0..999; else 0 */
	uint64_t reserved[4];       /* no flag makes them count */
};

/* rl_check() for an item. */
enum rl_verdict rl_check_item(struct rl *rl, const struct rl_item *item, struct rl_result *result);

/*
 * The same, and `results` gets one result for each limit that counts the key, in the rule's order;
 * `index` says which limit it is of. *count is how many there are: 0 for a banned, exempt or empty
 * key, for a removed rule, and after an error. `result` is the answer, as above. `count` and
 * `results` may not be NULL.
 */
enum rl_verdict rl_check_limits(struct rl *rl, const struct rl_item *item, struct rl_result *result,
                                size_t *count, struct rl_result results[RL_LIMITS_MAX]);

#define RL_ITEMS_MAX 32 /* rules of one request, and limits of all of them */

/*
 * Decide one request under several rules, all or nothing: if all allow it, it is charged to all,
 * otherwise to none. `results` is NULL or gets one result for each item. *decided, unless NULL, is
 * the item that decided: the one that denies longest, or `count`. Its verdict is returned. Only
 * that item's rule counts a denial. A request has one time, the first item's: an item that says
 * another (and not 0) is RL_UNDECIDED with -EINVAL.
 *
 * All limits are looked at first, then charged. If another request uses one up in between, the
 * charges before it are given back as by rl_refund(); meanwhile another request may be denied by
 * them. No interleaving admits more than any of the limits. Who is killed half way has charged what
 * it charged. RL_UNDECIDED, and of all items RL_EITEMS, with too many of them; nothing is charged.
 */
enum rl_verdict rl_check_all(struct rl *rl, const struct rl_item *items, size_t count,
                             struct rl_result *results, size_t *decided);

/*
 * Decide `count` requests, each by itself, and at its own time: as one rl_check_item() after the
 * other, but faster if the table is large. `results` may not be NULL.
 */
void rl_check_many(struct rl *rl, const struct rl_item *items, size_t count,
                   struct rl_result *results);

enum rl_how {
	RL_CHECK = 0, /* charges all, or none: rl_check_all() */
	RL_PEEK = 1,  /* looks at each, at a cost of 1, whatever the item's, and charges nothing */
	RL_RESERVE = 2, /* books all ahead, or none: as rl_reserve(). Each is allowed with its own
	                   time to wait; the request waits for the longest */
	RL_EACH = 3,    /* each is a request of its own: rl_check_many(). Of those that are not
	                   allowed the first is the one that decided */
};

/* The general call, which the others are made of. `max_wait_ns` is RL_RESERVE's. */
enum rl_verdict rl_decide(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how,
                          uint64_t max_wait_ns, struct rl_result *results, size_t *decided);

/*
 * Say what the request whose item had `charges` has cost, once that is known: `actual` counts in
 * place of the item's cost, under each limit by itself. What was charged beyond it goes back where
 * it was charged, as far as it can: in a window's sub-bucket of the request while that counts, in a
 * log at its newest time, in a bucket what has not come back since. Later is too late, which errs
 * on the safe side. What it cost beyond its charge is a debt: it counts from now, beyond the
 * capacity if need be, and nothing is admitted that does not fit beside it. What is in flight
 * stays. Who never settles leaves its charge, which ends with its window: rl_settle(3).
 *
 * Any process may, by the bytes of `charges`; once, then RL_ESETTLED. A copy is another charge. 1;
 * 0 nothing has changed; RL_EACTUAL above RL_CAPACITY_MAX; -ENOSPC a debt found no room; -EROFS;
 * after -EBUSY, -ENOMEM the rest stays in `charges`.
 */
int rl_settle(struct rl *rl, struct rl_charges *charges, uint64_t actual);

/*
 * As if the request had not been made: all comes back, also what is in flight. A second call does
 * nothing. 1 given back, 0 ignored, -EROFS; -EBUSY, -ENOMEM as above.
 */
int rl_refund(struct rl *rl, struct rl_charges *charges);

/*
 * Give back the item's cost by its key, for a caller that has no charges: each limit of the rule as
 * much of it as is there (rl_refund(3)), with the capacity that the requests had, if one of their
 * own. Returns the most that a limit took back, 0 also for a banned or exempt key, and of units in
 * flight; -EINVAL, RL_EEMPTY, -ENAMETOOLONG, RL_EADDRESS, RL_EREMOVED, RL_ECOST, -ENOMEM,
 * RL_EDAMAGED, -EROFS, -EBUSY.
 */
int rl_refund_key(struct rl *rl, const struct rl_item *item);

/*
 * Give back what this process has prefetched (`prefetch` of a limit), as before it waits for long,
 * or ends without rl_close(); else it is denied to all others while its sub-bucket counts. Returns
 * how many units were: those of a sub-bucket that is over cannot be. -EROFS.
 */
int rl_prefetch_return(struct rl *rl);

/*
 * Forget what a key has used under all limits of a rule, its networks' with it; "192.0.2.0/24"
 * forgets that network alone. 1 forgotten, 0 there was nothing, -EINVAL, RL_EADDRESS, -EROFS,
 * -EBUSY; -ENOSPC the key has no slot, is counted together with others (RL_BY_RESERVE), and no slot
 * is to be had. Of many keys: rl_reset_matching() of rl_admin.h.
 */
int rl_reset(struct rl *rl, int rule, const void *key, size_t key_len);

/* Now, in nanoseconds since 1970 on the segment's clock. */
uint64_t rl_now(const struct rl *rl);

/*
 * Store a text in place of a key that is longer than RL_KEY_MAX: "S256:", the SHA-256 of its bytes
 * in base64url without padding (RFC 4648), and a NUL. By the key's bytes alone, so programs in all
 * languages share one counter; bans, overrides and resets by a prefix see the text. Returns its
 * length, RL_KEY_DIGEST_SIZE - 1. Some 4 ns for each byte. A signal handler may call it.
 */
#define RL_KEY_DIGEST_SIZE 49
size_t rl_key_digest(const void *key, size_t key_len, char text[RL_KEY_DIGEST_SIZE]);

/*
 * Of an error, never NULL: a sentence; a token such as "full" for programs and logs; what to do
 * about it, "" if it is none of rl's.
 */
const char *rl_strerror(int error);
const char *rl_error_name(int error);
const char *rl_error_remedy(int error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
