/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_H
#define RL_H

/*
 * rl - one rate limit shared by all worker processes of a host.
 *
 * The counters live in a POSIX shared-memory segment. Every decision is made
 * inside the calling process, without a lock, a server or a system call beyond
 * reading the clock (a concurrency limit needs more: see rl_release()), and a
 * process that is killed or stopped at any instruction holds up nobody. The first process
 * that opens a segment creates it.
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
 * What holds
 *
 * - With `hard`, no span of time as long as the window ever holds more than `capacity` admitted
 *   cost, however many processes race, die or stop. A request counts at its `now`, or at the newest
 *   timestamp of what it is counted with, if that is later: its key, or in a full table its
 *   overflow counter. A key keeps its counter until it is reset, evicted (`on_full`), or idle for a
 *   window and the buffer.
 * - A denial writes nothing to the counter, unless its limit counts what it denies, or it gives
 *   back what dead processes held: a flood on a blocked key costs reads.
 * - Bytes in the segment are outside input: damage can make a count wrong, never
 *   make a call crash, hang or leave the segment.
 *
 * What to know, and the remedy
 *
 * - fork: open before or after it, both work; a child uses the parent's handle.
 *   The child must not call rl_close() on behalf of the parent: close is private.
 * - Signals: no decision takes a lock. A decision allocates only at the process's first use of a
 *   limit, and rl_define() is such a use; a limit of another shape is another limit, and so is one
 *   that has started anew (rl_configure(), rl_reset_matching() without counts). (If the library was
 *   loaded by dlopen(3), a thread's first denial allocates as well.) After that a signal handler
 *   may decide, even if it interrupts a decision; but not by a concurrency limit.
 * - Threads may share a handle, except for rl_close(): it unmaps the segment. A call that
 *   another thread is in, or makes later, is a SIGSEGV.
 * - A killed process has charged at most the one request it was deciding.
 * - A full table: a key has 16 candidate slots. When all are used, and by keys that still count
 *   something, `on_full` of the segment decides, and a counter counts it. By default the key is
 *   counted together with others, which never admits too much (RL_BY_RESERVE). A request that is
 *   answered without a counter has -ENOSPC in `error`. Remedy: more `keys`, or `cells`.
 * - Clock: CLOCK_BOOTTIME, shifted once, at creation, to Unix time. Windows align
 *   to the wall clock, and no later step of the wall clock moves them; a suspended
 *   machine's time counts as passed. A `now` earlier than the key's newest admitted
 *   request is decided as if it came with that request, or more strictly, and never takes
 *   a counter back: a process may have been stopped, or its own clock stepped back.
 *   A timestamp ahead of other processes' advances the key's window for everyone, and
 *   may find other keys' counters expired. So pass rl_now() or your own clock on the same
 *   scale, never another unit.
 *   CLOCK_BOOTTIME differs between time namespaces: rl_open() finds by how much, and every
 *   process that has the segment open reads the same time. If the difference cannot be known,
 *   rl_open() returns RL_ECLOCK; without /proc it does so if the wall clock is more than a
 *   minute apart.
 *   A process that enters another time namespace afterwards, or forks children into one,
 *   opens the segment there anew.
 * - Versions: a segment written by another layout is refused (RL_EVERSION), never converted or
 *   replaced. Remedy: `rl_unlink()` it once nobody uses it. A program runs with each later library
 *   of its soname: no structure of this header gets another size or another field at an old place.
 *   A later field takes words of `reserved`, which a program leaves at 0, as an initializer does,
 *   or has a flag of its own. So an earlier library refuses (-EINVAL) a program that asks for what
 *   it does not know, and leaves at 0 what it cannot fill.
 * - A process that may write the segment may also truncate it, and then every
 *   user of it receives SIGBUS. Give write access to your own workers alone.
 */

#if __SIZEOF_POINTER__ < 8
#error "rl is for 64-bit machines: x86-64 (but not x32) and arm64"
#endif

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rl; /* a segment that this process has open */

#define RL_MILLISECOND UINT64_C(1000000)
#define RL_SECOND UINT64_C(1000000000)

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
#define RL_LOG_MAX 4096        /* capacity of a sliding_log, and at most half the ring */
#define RL_LIMITS_MAX 8        /* limits of a rule */
#define RL_ANY_RULE (-1)       /* rl_ban() and its like: under every rule */
#define RL_NEVER_NS UINT64_MAX /* a duration without an end */
/*
 * rl_options.key_bytes: the segment keeps no name of a key or a ban. Names cannot be listed then.
 */
#define RL_KEY_BYTES_NONE UINT32_MAX

/*
 * Errors are negative errno values. These are an rl segment's own; each is a different errno,
 * so that a caller can tell them apart.
 */
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
#define RL_ERING (-E2BIG)              /* its ring is too short for the rule: rl_rule_ring() */
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
#define RL_EMOVING (-EINPROGRESS)      /* keys are on their way to another table still */

/* What to do when all 16 candidate slots of a key are used. */
enum rl_on_full {
	RL_FULL_RESERVE = 0, /* count it together with others in an overflow counter of its limit,
	                        which never admits too much and may deny too early: see
	                        RL_BY_RESERVE. A key of a rule that has at least two more of the
	                        slots gives way: what it has used is kept in its overflow counter */
	RL_FULL_DENY = 1,    /* deny the request */
	RL_FULL_ALLOW = 2,   /* allow it, uncounted */
	RL_FULL_EVICT = 3, /* evict the least used key, which starts anew when it comes back; never
	                      one at which a request of the cost that it was last charged would be
	                      denied, by its limit (an override's if the whole name is kept) or by
	                      its last tier, see struct rl_item. If all are, the request is
	                      undecided */
};

/* How rl_open() behaves; combine with |. */
enum rl_open_flag {
	RL_OPEN_READONLY = 1,    /* map without write permission, and never create: peek and inspect
	                            only */
	RL_OPEN_EXISTING = 2,    /* never create */
	RL_OPEN_GROUP = 4,       /* give a new segment to `group`, and trust one that another member
	                            has made */
	RL_OPEN_ANY_OWNER = 8,   /* trust any owner: for tools run by an administrator */
	RL_OPEN_HUGE_PAGES = 16, /* ask the kernel for huge pages for a new segment: a large table
	                            is faster, and takes longer to create. If the kernel gives none,
	                            the segment does without; see "Huge pages" in rl(7) */
	RL_OPEN_POPULATE = 32,   /* map every page at once: opening takes some 0.2 s for a GiB, and
	                            the first request for a key no longer waits for its page */
	RL_OPEN_AT_LEAST = 64,   /* refuse a segment that is less than these options ask for: see
	                            rl_open_compare() */
	RL_OPEN_CLUSTER = 128,   /* make a new segment so that limits of it may be of a cluster: it
	                            takes 16 bytes and a bit more for each slot */
};

/* The most that struct rl_options may ask for, and what it gets where it says 0. */
#define RL_KEYS_MAX UINT32_C(1500000000)
#define RL_RULES_MAX 1023 /* and as many limits, of all rules together */
#define RL_OVERRIDES_MAX UINT32_C(100000000)
#define RL_BANS_MAX UINT32_C(1000000)
#define RL_HOLDERS_MAX UINT32_C(4096)
#define RL_EVENTS_MAX (UINT32_C(1) << 20)
#define RL_EVENTS_NONE UINT32_MAX /* as rl_options.events: nothing is told */
#define RL_RESERVES_MAX UINT32_C(1024)
#define RL_CELLS_MIN UINT32_C(64) /* of what a 0 stands for */
#define RL_CELLS_MAX (UINT32_C(1) << 24)
#define RL_BUFFER_MAX (86400 * RL_SECOND)
#define RL_KEYS_DEFAULT 24576
#define RL_RING_DEFAULT 1
#define RL_KEY_BYTES_DEFAULT 48
#define RL_RULES_DEFAULT 64
#define RL_OVERRIDES_DEFAULT 1024
#define RL_BANS_DEFAULT 1024
#define RL_HOLDERS_DEFAULT 1024
#define RL_RESERVES_DEFAULT 16
#define RL_EVENTS_DEFAULT 4096
#define RL_BUFFER_DEFAULT (10 * RL_SECOND)
#define RL_MODE_DEFAULT 0600

/*
 * Options used only when the segment is created. An existing segment is attached as it is and keeps
 * its own values; with RL_OPEN_AT_LEAST, only if they suffice. Zero means the default.
 */
struct rl_options {
	uint32_t keys;      /* that find a slot at the same time */
	uint32_t ring;      /* entries kept per key, at most RL_RING_MAX: as many as rl_rule_ring()
	                       says of its rules. Granularity is at most that, a log's capacity at
	                       most half. 0: 1, for buckets and for windows of one sub-bucket */
	uint32_t key_bytes; /* bytes of each key kept for people, at most RL_KEY_MAX; or
	                       RL_KEY_BYTES_NONE */
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
	uint32_t cells;     /* RL_FULL_RESERVE only: of each limit that has keys without a slot; a
	                       power of two. 0: so many that all take a seventh of the table's
	                       memory at most, but at least RL_CELLS_MIN */
	uint32_t reserves;  /* RL_FULL_RESERVE only: how many limits have overflow counters at the
	                       same time */
	uint32_t events; /* events to keep for rl_events_read(), 64 bytes each; or RL_EVENTS_NONE */
	uint64_t reserved[3];
};

enum rl_algorithm {
	RL_SLIDING_WINDOW = 0,
	RL_FIXED_WINDOW = 1,
	RL_SLIDING_LOG = 2,
	RL_TOKEN_BUCKET = 3,
	RL_LEAKY_BUCKET = 4,
	RL_ANCHORED_WINDOW = 5,
	RL_COUNTER = 6, /* of rl_define_counters(), and no rule's */
	RL_IN_FLIGHT = 7,
};
#define RL_ALGORITHM_LAST RL_IN_FLIGHT

/* For whom a limit is one. */
enum rl_scope {
	RL_SCOPE_HOST = 0,    /* all processes of the host */
	RL_SCOPE_CLUSTER = 1, /* all hosts that rld(8) connects to one store */
};

/*
 * What a share of a cluster's capacity is worth once its lease is over, for the store cannot be
 * reached.
 */
enum rl_away {
	RL_AWAY_LOCAL_SHARE =
		0,          /* the capacity divided by the number of hosts there were, at least 1 */
	RL_AWAY_KEEP = 1,   /* what it was */
	RL_AWAY_OPEN = 2,   /* the capacity: each host by itself */
	RL_AWAY_CLOSED = 3, /* nothing */
};

/*
 * A limit: `capacity` per window. Algorithm, window, granularity, hardness and prefixes are its
 * shape, and a counter belongs to one shape. Capacity, burst, undelayed, shadow and count_denied
 * may change at any time without touching a counter.
 *
 * RL_SLIDING_WINDOW divides the window into `granularity` sub-buckets and counts
 * the current one, those before it that lie wholly inside the window, and the
 * oldest, which the window has partly left: by its remaining share (the default;
 * with one sub-bucket this is the known two-counter estimate), or in full when
 * `hard`, which never admits too much and denies up to one sub-bucket early: with one,
 * by a whole window. (In rl.json(5) the default is about 60, and hard.)
 * RL_FIXED_WINDOW counts from one multiple of the window to the next.
 *
 * RL_ANCHORED_WINDOW is a fixed window of each key, which begins with the key's first admitted
 * request; the first one after its end begins another. It counts as Redis' INCR with an EXPIRE at
 * the first hit does, and as most libraries for Node, Python and Ruby do. With a window of
 * RL_NEVER_NS it has no end: the count goes on until rl_reset(), or until the key is evicted
 * (`on_full`). As any fixed window it may admit twice its capacity in a span as long as the window,
 * around an end.
 *
 * With `count_denied`, of a fixed or anchored window, a request that the limit denies is counted,
 * too: then `used` of the result goes beyond the limit, for penalties that grow. Such a denial
 * writes to the counter, so a flood of them costs more than without. A cost above the capacity is
 * not counted.
 *
 * RL_SLIDING_LOG is exact: it remembers the time of each unit of cost, so its capacity is
 * bounded: half the segment's ring, and RL_LOG_MAX. (The other half is for what is given back.)
 *
 * RL_TOKEN_BUCKET holds `burst` tokens and fills with `capacity` of them per window, evenly.
 * RL_LEAKY_BUCKET lets requests through at `capacity` per window, evenly: a request that
 * comes too early is allowed with a `delay_ns` that the caller is to wait, `burst` of them
 * at most, and denied beyond. The first `undelayed` of those need not wait. 0: delay every
 * queued request (nginx: `burst=N`); = burst: none (`nodelay`); between: nginx's `delay=`.
 * Both are the generic cell rate algorithm (ITU-T I.371) on one time per key; their
 * `limit` is what an idle key may take at once: burst, or burst + 1. They are exact: 3 per 10 s
 * admit three again after 10 s, not a nanosecond later. A key's time goes up to the next
 * nanosecond when its capacity changes (a tier, an override, the rule).
 *
 * With `prefetch`, of windows alone, a process prefetches so many units of a key and lets the
 * requests that follow spend them: faster for a key that all processes ask for at once, up to 64 of
 * them in each process. What is admitted is never more than without. What it costs:
 *
 * - Units that a process has taken and not spent are denied to all others. At the end of a
 *   sub-bucket, and at rl_resize(), they are lost (`prefetch_void` counts them), and count until it
 *   has left the window. So up to prefetch - 1 units a process and sub-bucket are admitted fewer.
 *   It prefetches none where less than prefetch units for each CPU would remain.
 * - `remaining`, peeks and whatever lists a key count what is prefetched as used.
 * - They are given back by rl_close() and rl_prefetch_return(). A process that is killed, or ends without
 *   either, loses them as above; a child of fork(2) does not inherit them. A ban, rl_reset() and a
 *   changed capacity are in force at once, whatever any process took before.
 * - A request that spends them counts at its own `now`, also if the key has a later timestamp.
 *
 * It is refused (-EINVAL) above RL_PREFETCH_MAX, for other algorithms, for a shadow, with
 * `count_denied`, for a rule of several limits, and if prefetch * granularity is more than a
 * RL_PREFETCH_PART of the capacity. rl_check_all() of several rules, and requests with a capacity
 * of their own, spend and take none.
 *
 * RL_IN_FLIGHT is a concurrency limit, and counts what is held at the same time: a request takes
 * units, and gives them back when it is done, by rl_release(). It has no window: window_ns,
 * granularity, hard, burst, undelayed, prefetch and count_denied are 0. What a process holds comes
 * back by itself when it ends, however it ends: see rl_release(). A denial has retry_after_ns 0,
 * not known: when units are given back nobody knows. reset_after_ns and window_ns are 0. If a
 * capacity is lowered below what is held, requests are denied until enough was given back; `used`
 * is then above `limit`.
 *
 * A window that `granularity` does not divide is made longer by less than
 * `granularity` nanoseconds.
 *
 * With `scope` RL_SCOPE_CLUSTER the capacity is that of all hosts together. Each host has a share
 * of it, which rld(8) asks a store for, and admits by its own counters: at most its share and
 * `blind`, so that all together admit at most the capacity and `blind` for each host. `limit` of a
 * result is the capacity, `used` is what counts on this host, `remaining` what this host would
 * admit now; a denial because the share is too small has retry_after_ns 0, not known. It is refused
 * (-EINVAL) for anchored_window and in_flight, with count_denied or prefetch, with more than 8
 * sub-buckets or such of less than 125 ms, for a bucket that takes more than 2^50 ns (13 days) to
 * fill, and a blind above the capacity; and with RL_ECLUSTER in a segment that was made without
 * RL_OPEN_CLUSTER. rl_reserve() of such a limit is refused, too. A refund to a bucket gives back
 * the newest charge alone, and only while the share is what it was.
 *
 * With `prefix_v4` or `prefix_v6` the key is an IP address in text (inet_pton(3)), and what
 * is counted is the network of that many leading bits it lies in. A limit without a prefix for
 * the address's family does not count it. ::ffff:192.0.2.1 is 192.0.2.1.
 */
struct rl_limit {
	enum rl_algorithm algorithm;
	uint32_t capacity;  /* cost admitted per window, 1..RL_CAPACITY_MAX; in_flight: held at
	                       once, 1..RL_IN_FLIGHT_MAX */
	uint64_t window_ns; /* RL_WINDOW_MIN..RL_WINDOW_MAX: 10 ms to 400 days; anchored_window: or
	                       RL_NEVER_NS; in_flight: 0 */
	uint32_t granularity; /* sub-buckets of a sliding_window, 1..64; 0 means 1, as others
	                         have */
	int hard;             /* sliding_window only */
	uint32_t burst;     /* token_bucket: tokens held, 0 means capacity; leaky_bucket: may wait;
	                       to fill it must take no more than 100 years */
	uint32_t undelayed; /* leaky_bucket: how many of them need not wait; at most burst */
	int shadow;         /* evaluated and counted, never enforced: always allowed */
	uint8_t prefix_v4;  /* bits, 1..32; 0: IPv4 is not counted */
	uint8_t prefix_v6;  /* bits, 1..128; 0: IPv6 is not counted */
	uint16_t prefetch;  /* sliding_window, fixed_window: units that each process may prefetch;
	                       0: none */
	int count_denied;   /* fixed_window, anchored_window: count denied requests, too */
	uint16_t scope;     /* of enum rl_scope */
	uint16_t away;      /* RL_SCOPE_CLUSTER: of enum rl_away */
	uint32_t blind;     /* RL_SCOPE_CLUSTER: what each host may admit beside its share, at most
	                   the capacity; rounded down above 1,023, by less than a 512th. 0:
	                   strict, nothing */
	uint64_t reserved[4];
};

/* How rl_define() treats a rule that is defined already. */
enum rl_define_flag {
	RL_DEFINE_KEEP = 1, /* the first definition stays: refuse one that differs */
};

/* What a rule needs of who asks about it; the bits combine. */
enum rl_need {
	RL_NEEDS_CHARGES = 1, /* a place for what is charged (rl_item.charges), for its units are
	                         held until they are given back: it has a concurrency limit */
	RL_NEEDS_ADDRESS = 2, /* keys that are IP addresses in text: its limits have prefixes */
};

/*
 * A rule: a name, and one to RL_LIMITS_MAX limits that all have to allow a request. Either all
 * of its limits have prefixes or none has.
 */
struct rl_rule {
	const char *name; /* 1..63 letters, digits and . _ - : / */
	struct rl_limit limit;
	const struct rl_limit *more; /* further limits, or NULL */
	size_t more_count;
	unsigned flags;  /* of enum rl_define_flag; a configuration has no use for them */
	unsigned *needs; /* NULL, or rl_define() says there what the rule needs of who asks: flags
	                    of enum rl_need */
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
	uint64_t now_ns; /* when they are given back; 0: now. Each decision sets it to 0 */
	struct rl_charge charge[RL_LIMITS_MAX];
};

/* What decided. */
enum rl_reason {
	RL_BY_LIMIT = 0,
	RL_BY_BAN = 1,       /* denied, and no counter was read: see rl_ban() */
	RL_BY_EXEMPTION = 2, /* allowed, and no counter was read: see rl_allow() */
	RL_BY_RESERVE = 3,   /* by a limit: the key has no slot, and is counted together with others
	                        in an overflow counter. See below */
};

struct rl_result {
	enum rl_verdict verdict;
	int error; /* 0, or why: -ENOSPC table full, no room for a holder; -EINVAL, -EROFS, ... */
	enum rl_reason reason;
	unsigned index;     /* of the limit that decided; the fields below describe it */
	uint32_t limit;     /* the largest cost that is ever allowed at once */
	uint32_t remaining; /* cost still free now, see below */
	uint32_t used;      /* cost that counts now, this request's if it was counted; above `limit`
	                       only if the limit counts what it denies, or is a concurrency limit
	                       and was lowered */
	int is_shadow_denied;    /* a shadow limit would have denied it */
	uint64_t retry_after_ns; /* 0 if allowed, or not known (in_flight); RL_NEVER_NS if never;
	                            see below */
	uint64_t reset_after_ns; /* until nothing counts any more; 0 if nothing counts now, or
	                            not known (in_flight) */
	uint64_t delay_ns;       /* how long an allowed request is to wait; buckets only */
	uint64_t window_ns; /* of the limit as it is now; 0 if the rule has none, or the limit is
	                       in flight; RL_NEVER_NS if it has no end */
};
/*
 * Of several limits, the one that denies longest decides. If none denies, the one with the least
 * remaining does. A shadow limit decides only if all are shadows. delay_ns is the longest of any.
 * A request that a shadow would have denied is allowed; its other fields are as if denied.
 */
/*
 * retry_after_ns is exact, but of concurrency limits: with no other traffic, the same request is
 * denied 1 ns before it and allowed at it. With RL_BY_BAN it is the earliest timestamp at which
 * neither a ban that stands now nor the configuration bans the key. The limits decide then, and may
 * deny for longer.
 *
 * With RL_BY_RESERVE, limit, used and remaining are of all keys of the overflow counter together,
 * so the key itself may have used less, and retry_after_ns is an upper bound: a slot may become
 * free before. A charge of such a request is given back to nobody (rl_refund()); `charges` has
 * none.
 *
 * remaining is never overstated. It is exact - the largest cost that would be allowed
 * now - but after an admission by an estimate with more than one sub-bucket: there it
 * counts the oldest in full, for looking that one up costs a second cache miss.
 */

/*
 * Open the segment `name` (NULL: "default"), creating it when absent.
 * `options` may be NULL. On success *out is a handle to pass to rl_close().
 *
 * The segment is a file in /dev/shm/rl, if that directory exists, belongs to root and is not
 * writable by everybody. So no stranger can take a name first. A caller that may not write that
 * directory gets RL_EDIRECTORY. Without the directory, or if the segment already is in /dev/shm,
 * it is there.
 *
 * 0, or: -EINVAL bad name or option; -ENOENT absent and not to be created;
 * -EACCES no permission; -ENOSPC no room in /dev/shm, RL_EMEMORY too little memory for all of
 * it in the control group, or the machine: nothing is left behind;
 * -ENOMEM; RL_EFOREIGN, RL_EVERSION, RL_ETRUNCATED, RL_EDAMAGED, RL_EBOOT, RL_ECLOCK;
 * RL_EOWNER; RL_EPUBLIC; RL_EDIRECTORY; RL_ETWICE; RL_EMOUNT; RL_ECREATE; RL_ELESS; -EFBIG above
 * RLIMIT_FSIZE; -EPERM not a member of `group`;
 * -EMFILE out of descriptors; -EIO no random bytes; -EAGAIN the name kept changing.
 *
 * Processes that create at the same time end up in one segment. A creator that is
 * killed leaves nothing. A writer only attaches to a segment that it trusts: root's, its
 * own, or, with RL_OPEN_GROUP, one of `group` that not everybody may write. Others are refused
 * with RL_EOWNER. Without RL_OPEN_GROUP it is not enough to be in the segment's group, for any
 * member could have made it. A segment that everybody may read or write is refused with
 * RL_EPUBLIC unless `mode` has that bit, for it shows the hash key. RL_OPEN_ANY_OWNER accepts
 * all of these.
 *
 * -EINVAL is a mistake of the caller. Every other error may go away while the process runs, as when
 * somebody creates the segment or gives permission: a server starts without, and tries again. "With
 * servers" of rl(7) says who creates it for several users, and what an attempt costs.
 */
int rl_open(const char *name, const struct rl_options *options, struct rl **out);

/*
 * Detach. The segment and its counters stay, other processes go on. NULL is fine. No other thread
 * and no signal handler may be in a call with this handle, for the segment is unmapped.
 */
void rl_close(struct rl *rl);

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
	uint64_t reserved[2];
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
 * overrides, bans, holders, events and buffer_ns ask for at least so much; RL_KEY_BYTES_NONE that
 * no bytes are kept; RL_FULL_DENY and RL_FULL_ALLOW for that, and nothing else. mode, group and
 * flags ask for nothing.
 *
 * So a program opens as it is, and warns; or it opens with RL_OPEN_AT_LEAST, and rl_open() returns
 * RL_ELESS where this does, also if another process creates the segment meanwhile.
 */
#define RL_OPEN_TEXT_SIZE 512
int rl_open_compare(const struct rl_info *is, const struct rl_options *asked, char *text,
                    size_t size);

/*
 * Define a rule, and return its handle: a number >= 0 that every later call takes. Adapters may
 * call it on first use. The name is the rule: defining it again returns the same handle, and
 * where the limits differ, replaces them for all processes from their next decision on. A limit
 * whose shape is as before keeps its counters; one with another shape starts anew, also if the
 * rule had it once and took another meanwhile. So programs that define one rule differently reset
 * it for each other: use a configuration, or two names. The rule's counter `redefined` counts each
 * definition that has replaced a different one.
 *
 * With RL_DEFINE_KEEP the first definition stays. If an application has defined the rule with the
 * same limits, in the same order, the handle is returned as ever. If the limits differ, nothing
 * changes, and the error is RL_EDEFINED; rl_find() returns the handle. Of programs that define a
 * rule at the same time, all with this flag, one defines it. A definition without the flag still
 * replaces others.
 *
 * A rule that the administrator has configured stays as it is configured; this definition applies
 * again if the configuration drops the rule. A configuration is not a definition that differs: only
 * what applications have defined is compared.
 *
 * Negative: -EINVAL a field out of range; RL_ERING granularity above the segment's ring, a log's
 * capacity above half of it, or a ring of 1 for units in flight: rl_rule_ring() says how long a
 * ring to ask for, `rlctl resize --ring` (rl_resize() of rl_admin.h) makes it so long, and
 * rl_info.ring_asked tells others of it; RL_ERULES no room for another rule, those removed not
 * counted; RL_ELIMITS no room for another limit, those that no rule has any more not counted;
 * -EBUSY other processes define or configure for seconds, or keep changing the rule; -EEXIST the
 * name is that of counters by key; RL_EDEFINED see above; -EROFS read-only; -ENOMEM.
 *
 * A rule keeps its row in the segment, and its handle, while an application has defined it (see
 * rl_forget()) or the configuration has it. Afterwards the row may be given to another
 * rule, once no unused row is left. The old handle then limits nothing: see rl_check(). Call
 * rl_find() again to get the new one.
 *
 * If no unused row is left for rules or limits, a definition reads all slots, some 5 ns each, and
 * takes turns as rl_configure() does. Of definitions that return to an earlier shape each fifteenth
 * reads all slots, too, but does not wait.
 */
int rl_define(struct rl *rl, const struct rl_rule *rule);

/*
 * Check a rule without a segment, so that checking a server's configuration does not touch the
 * segment in use. Returns what rl_define() would return in a segment made with `options`: 0,
 * -EINVAL or RL_ERING. NULL means the default options; only `ring` matters. After an error, `text`
 * is a sentence for people that names the field, its value and what is allowed, such as
 * "more[0].capacity: 0; 1 to 268435455 is allowed", cut to `size` bytes with its NUL.
 * RL_RULE_TEXT_SIZE bytes hold any. `text` may be NULL, and is empty without an error.
 */
#define RL_RULE_TEXT_SIZE 160
int rl_rule_check(const struct rl_rule *rule, const struct rl_options *options, char *text,
                  size_t size);

/*
 * The ring that a segment is to have for a rule: an entry for each sub-bucket, two for each unit of
 * a log's capacity, and for units in flight one for each process that may hold some of a key, 64 or
 * the capacity if that is less: fewer do, but one for all of them does not. At least 1; more than
 * RL_RING_MAX for what can be no rule.
 */
uint32_t rl_rule_ring(const struct rl_rule *rule);

/* The handle of the rule with this name; -ENOENT if there is none. */
int rl_find(struct rl *rl, const char *name);

/*
 * Forget what applications have defined as the rule of that name. The rule is then as configured,
 * or removed. While it is removed, its handles limit nothing, and its row may be given to another
 * rule. A rule that only the configuration had needs no such call. 1 forgotten, 0 no application
 * has defined it; -ENOENT, -EINVAL, -EROFS, -EBUSY.
 */
int rl_forget(struct rl *rl, const char *name);

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

/* Now, in nanoseconds since 1970 on the segment's clock. */
uint64_t rl_now(const struct rl *rl);

/*
 * Give back what this process has prefetched (see `prefetch`), as before it waits for long, or ends
 * without rl_close(). The number of units that could be given back: those of a sub-bucket that is
 * over cannot. -EROFS. Any thread may call it at any time.
 */
int rl_prefetch_return(struct rl *rl);

/*
 * A text in place of a key that is longer than RL_KEY_MAX: "S256:", and the SHA-256 of its bytes
 * (FIPS 180-4) in base64url without padding (RFC 4648). Adapters pass keys of up to RL_KEY_MAX
 * bytes as they are, and longer ones so:
 *
 *	char digest[RL_KEY_DIGEST_SIZE];
 *	if (key_len > RL_KEY_MAX) {
 *		key_len = rl_key_digest(key, key_len, digest);
 *		key = digest;
 *	}
 *
 * The text depends on the key's bytes alone. So programs in all languages share one counter, and
 * dumps and other segments agree, on every host and in every version. Nobody can make two keys that
 * have the same text. RL_KEY_BYTES_DEFAULT keeps all of it. A client that sends such a text as a
 * key is counted as the long key is, and gains nothing: the key itself does that, too. The text
 * hides no key that can be guessed.
 *
 * Bans, overrides and resets by a prefix see the text. If they are to match the beginning of long
 * keys, build the key of that beginning and the digest of the rest.
 *
 * Stores the text with a NUL, and returns its length, RL_KEY_DIGEST_SIZE - 1. The key may be of any
 * length. It takes some 4 ns for each byte. Any thread or signal handler may call it at any time.
 */
#define RL_KEY_DIGEST_SIZE 49
size_t rl_key_digest(const void *key, size_t key_len, char text[RL_KEY_DIGEST_SIZE]);

/*
 * Decide one request of `cost` by `key` (1..RL_KEY_MAX bytes, any bytes) under
 * `rule`, and charge it if it is allowed. Returns the verdict; `result` may be NULL.
 *
 * An empty key is not limited: allowed, with RL_EEMPTY in `error`, nothing counted. Cost 0 is a
 * peek. A cost above the capacity is RL_NEVER. A key that is too long (-ENAMETOOLONG) or no address
 * (RL_EADDRESS), an unknown rule (-EINVAL) and a charge on a read-only handle (-EROFS) are
 * RL_UNDECIDED. So is a decision that takes too many steps: RL_ECOST in a damaged segment, -EBUSY
 * if other processes keep changing the key. A process's first use of a limit, and of one that has
 * started anew, allocates some 150 bytes that stay until rl_close(). -ENOMEM: no memory, or limits
 * have started anew half a million times, and again each ten seconds since rl_open(). A rule
 * that the configuration has dropped limits nothing: allowed, with RL_EREMOVED. The same holds for
 * a handle whose row has been given to another rule. That rule is not asked and charges nothing;
 * only its statistics may count a request that was under way just then. The 1,048,576th rule
 * after it in that row has the same handle.
 *
 * A rule's limits are decided all or nothing, as rl_check_all() says.
 *
 * Under a rule with a concurrency limit, a request that is to be charged needs a place for its
 * charges (rl_item.charges), for else nobody could give back what it takes: without one it is
 * RL_UNDECIDED with RL_ECHARGES, as it always is by this call. Use rl_check_item().
 *
 * Any thread of any process may call this at any time.
 */
enum rl_verdict rl_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                         struct rl_result *result);

/*
 * Decide about a request of cost 1 without charging it, and without creating a counter.
 * Works on a read-only handle.
 */
enum rl_verdict rl_peek(struct rl *rl, int rule, const void *key, size_t key_len,
                        struct rl_result *result);

/*
 * One rule of one request: a key under it. A `capacity` other than 0 replaces that of the rule's
 * first limit, for a customer's tier (token_bucket: its burst, too). `burst` and `undelayed`
 * replace those of the first limit if `flags` says so, as where several places of a server share
 * one rate and each has a burst of its own. If the first limit does not count the key's address
 * family, all three are ignored. The counter is the same. A key that has a capacity of its own in
 * the configuration keeps it, and of a token bucket the burst.
 *
 * The capacity that the key's last request with one of its own brought along is kept for tools and
 * evictions (rl_entry.tier): of a request that was allowed, or denied by a limit while the key had
 * a counter. It decides about no other request: one without a capacity is decided by the rule's,
 * and leaves what is kept as it is. A burst and undelayed are not kept.
 *
 * -EINVAL: a capacity above RL_CAPACITY_MAX, a burst or undelayed for an algorithm that has none, a
 * burst of RL_CAPACITY_MAX or more, undelayed above the burst, an unknown flag. RL_ERING: a
 * capacity above half the ring, of a sliding log.
 */
enum rl_item_flag {
	RL_ITEM_BURST = 1, /* `burst` counts, also if it is 0. token_bucket: 0 means the capacity */
	RL_ITEM_UNDELAYED = 2, /* leaky_bucket: `undelayed` counts, also if it is 0 */
};

struct rl_item {
	int rule;
	const void *key;
	size_t key_len;
	uint64_t cost;
	uint64_t now_ns; /* when, on rl_now()'s scale; 0: now */
	uint32_t capacity;
	uint32_t burst;             /* with RL_ITEM_BURST */
	uint32_t undelayed;         /* with RL_ITEM_UNDELAYED */
	unsigned flags;             /* of enum rl_item_flag */
	struct rl_charges *charges; /* NULL, or gets what is charged, for rl_refund(); of several
	                               items each has its own */
	uint32_t leave;             /* 0 */
	uint64_t reserved[4];       /* no flag makes them count */
};

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

#define RL_ITEMS_MAX 32 /* rules of one request, and limits of all of them */

/* rl_check() for an item. */
enum rl_verdict rl_check_item(struct rl *rl, const struct rl_item *item, struct rl_result *result);

/*
 * The same, and `results` gets one result for each limit that counts the key, in the rule's order,
 * for headers; `index` of a result says which limit it is. A limit without a prefix for the
 * address's family has none. *count is how many there are: 0 for a banned, exempt or empty key, for
 * a removed rule, and after an error. `result` is the answer, as above. `count` and `results` may
 * not be NULL.
 */
enum rl_verdict rl_check_limits(struct rl *rl, const struct rl_item *item, struct rl_result *result,
                                size_t *count, struct rl_result results[RL_LIMITS_MAX]);

/* What is asked of several items. */
enum rl_how {
	RL_CHECK = 0,   /* charge all, or none */
	RL_PEEK = 1,    /* a look at each, of cost 1, whatever the item's: nothing is charged */
	RL_RESERVE = 2, /* book all ahead, or none */
	RL_EACH = 3,    /* each is a request of its own */
};

/*
 * Decide one request under several rules, all or nothing. If all allow it, it is charged to all;
 * otherwise nothing is charged. `results` is NULL or gets one result for each item. *decided,
 * unless NULL, is the item that decided: the one that denies longest, or `count`. Its verdict is
 * returned. Only that item's rule counts a denial.
 *
 * A request has one time, the first item's: one that says another (and not 0) is -EINVAL.
 *
 * All limits are peeked at first, then charged in order, those in flight before all others. If
 * another request uses one up in between, the charges before it are given back as by rl_refund(). A
 * charge whose sub-bucket another process has closed meanwhile stays, and tokens that have come
 * back by then do not come twice; both err on the safe side. A concurrent request may be denied by
 * a charge that is being given back. No interleaving admits more than any of the limits. A process
 * killed half way has charged what it charged.
 *
 * With more than RL_ITEMS_MAX items, or limits of all of them, it returns RL_UNDECIDED. The results
 * are not set, *decided is 0 and means nothing, and all `charges` are empty.
 *
 * RL_RESERVE: as rl_reserve(), with `max_wait_ns`, which others do not read. Each item is allowed
 * with its own time to wait; the request waits for the longest. RL_EACH: as rl_check_many(); of
 * the items that are not allowed the first is the one that decided. A number that is none of
 * enum rl_how is RL_UNDECIDED.
 */
enum rl_verdict rl_decide(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how,
                          uint64_t max_wait_ns, struct rl_result *results, size_t *decided);

/* rl_decide() of RL_CHECK. */
enum rl_verdict rl_check_all(struct rl *rl, const struct rl_item *items, size_t count,
                             struct rl_result *results, size_t *decided);

/*
 * Decide `count` requests, each by itself, and at its own time. The answers are those of one
 * rl_check_item() after the other, but the memory of all is prefetched before any is decided:
 * faster if the table is large. `results` may not be NULL.
 */
void rl_check_many(struct rl *rl, const struct rl_item *items, size_t count,
                   struct rl_result *results);

/*
 * Book `cost` for the earliest timestamp at which it is available, at most `max_wait_ns` from now:
 * allowed with the time to wait in delay_ns, or denied. token_bucket and leaky_bucket only, and for
 * all of a rule's limits; others, those in flight among them, are RL_UNDECIDED with -EINVAL. A
 * booking is charged at once, and counts for the requests after it until rl_refund().
 */
enum rl_verdict rl_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                           uint64_t max_wait_ns, struct rl_result *result);

/*
 * Give back what was charged to the request whose item had `charges`. That works only while the
 * sub-bucket it was charged to is the key's current one (sliding_log: while it is the
 * newest time; buckets: see below). Later it is ignored, which errs on the safe side. Of
 * several limits, each gives back by itself. The charges are removed from `charges`, so that a
 * second call does nothing; a copy of it is another charge. 1 given back, 0 ignored, -EROFS.
 *
 * For units in flight it is never too late: they are given back, as by rl_release(). -EBUSY: other
 * processes keep changing a key, and its units stay in `charges` for another call.
 *
 * A bucket takes back the whole charge if nothing was charged since. Otherwise it takes back what
 * had not come back when its newest admitted request came, however late it is given back: no span
 * of time ever holds more than burst and what the rate gave, net of what was given back. To be
 * sure of that, it gives back less than it could, or nothing, of a charge that
 *
 * - was followed by refunds of other charges: these count as if made before it, as far as it
 *   found the bucket short of tokens;
 * - lies more than 511 tokens behind the newest;
 * - was made under another capacity than the newest;
 * - is not the newest, while the newest is a booking beyond the burst: whoever waits keeps the
 *   booked time, which cannot be given to another.
 *
 * If 16384 tokens of others are given back after a charge, in less time than the charge needs to
 * come back, the bucket loses count of them. It may then give the charge back though it has come
 * back.
 */
int rl_refund(struct rl *rl, struct rl_charges *charges);

/*
 * Units in flight that a request holds. Opaque, of 32 bytes, and of the segment: any thread of any
 * process may give it back that can read and write the segment, also a child of the one that took
 * it.
 *
 *	struct rl_charges charges;
 *	struct rl_hold hold;
 *	struct rl_item item = {.rule = rule, .key = user, .key_len = strlen(user), .cost = 1,
 *		.charges = &charges};
 *	if (rl_check_item_at(rl, &item, rl_now(rl), &result) != RL_ALLOWED)
 *		refuse();
 *	size_t holds = rl_holds(&charges, &hold, 1);
 *	serve();
 *	rl_release(rl, &hold, holds);
 */
struct rl_hold {
	struct rl_charge charge;
};

/*
 * Move the units in flight out of `charges`, at most `max` of them, one for each concurrency limit.
 * Returns how many were moved. RL_LIMITS_MAX is room for all. Charges of rates stay, for
 * rl_refund(). 0 for a request that was allowed without a counter: exempt, by on_full, by a shadow
 * that would have denied it, with an empty key, of a removed rule, or of an address family that no
 * such limit counts.
 */
size_t rl_holds(struct rl_charges *charges, struct rl_hold *holds, size_t max);

/*
 * Give back what `count` holds hold, exactly, at any time. Each is then void, so that a second call
 * does nothing. A copy that is given back beside its original takes another unit of the same
 * process, if that holds one of the key. 1: some were given back; 0: there was nothing to give
 * back: it was done before, the holder was judged dead, the key was reset, or its limit is in force
 * no more. -EBUSY: other processes keep changing a key, and -ENOMEM: this process has not used the
 * limit yet, and has no memory to. Those that could not be given back are still holds: call again.
 * -EROFS.
 *
 * What holds
 *
 * - At most `capacity` units of a key are held. This leaves out units that were forgotten: by
 *   rl_reset() or rl_reset_matching(), or when the limit started anew (defined with another shape,
 *   or dropped by the configuration). Then as many more may be held. A capacity that is lowered
 *   takes nothing away.
 * - Units of a process that ends come back, however it ended: to requests that would be denied by
 *   them, within 100 ms, and to each sweep. Until then they count. A process is taken for dead on
 *   evidence alone: while it is a zombie that nobody has waited for, too, but not if it is of
 *   another pid namespace that cannot be seen from here. rld as root in a namespace above all
 *   others sees them (and /proc must not hide processes). Where the pid namespace of a process
 *   cannot be known, without /proc before Linux 6.11, what it holds comes back by rl_release() and
 *   rl_close() alone.
 * - A key of which units are held keeps its slot. It is neither evicted nor freed by a sweep.
 *
 * What to know, and the remedy
 *
 * - Units belong to the process that took them, all its threads alike. A child of fork(2) has a
 *   seat of its own and may give its parent's holds back. If the parent ends first, its units come
 *   back though the child goes on. Remedy: acquire in the child.
 * - rl_close() gives up the process's seat: what it still holds counts as a dead process's.
 * - A program that calls exec(2) holds on until it ends.
 * - `holders` is how many seats there are, and the ring how many of them can hold units of one key,
 *   at most RL_HOLDERS_MAX. A process takes a seat with its first unit and keeps it until
 *   rl_close() or its end, one for each handle; after exec(2) another, up to eight. A process that
 *   finds none is answered as `on_full` says, with -ENOSPC, and the rule's counter holders_full
 *   counts it.
 * - The first unit of a process takes some 20 system calls, and so does a denial that looks whether
 *   holders live: 64 looks in 100 ms and process at most, each some 7 us, or 60 us before Linux
 *   6.9: pidfd_open(2), fstatfs(2), fstat(2), poll(2), close(2), kill(2), and reading /proc. Where
 *   a sandbox answers these with an error, everybody lives; one that kills for them is no place for
 *   such a limit. -EMFILE and -ENFILE: a process without descriptors takes no seat.
 * - rl_reset() forgets what is held: then up to the capacity more may run, and the old holds are
 *   void.
 * - A dump has what is held, for people. It is not restored.
 */
int rl_release(struct rl *rl, struct rl_hold *holds, size_t count);

/*
 * Give back the item's cost by the key, for a caller that has no charges. Each limit of the rule takes back
 * as much of it as is there: a window what its current sub-bucket holds, a log what came at its
 * newest time, a bucket what had not come back when its newest request came, of 511 tokens at most,
 * and nothing while that one is a booking beyond the burst. Returns the most that a limit took
 * back, 0 also for a banned or exempt key, and for units in flight, whose holder a key does not
 * tell; -EINVAL, RL_EEMPTY, -ENAMETOOLONG, RL_EADDRESS, RL_EREMOVED, RL_ECOST, -ENOMEM,
 * RL_EDAMAGED, -EROFS; -EBUSY other processes keep changing the key.
 *
 * Of requests with a capacity of their own, give that in the item: a bucket takes nothing back
 * under another capacity than its newest request had. The item's cost is what is given back.
 */
int rl_refund_key(struct rl *rl, const struct rl_item *item);

/*
 * Forget what a key has used under all limits of a rule. Under a rule with prefixes this includes
 * what its networks have used; "192.0.2.0/24" forgets that network alone. 1 forgotten, 0 there was
 * nothing, -EINVAL, RL_EADDRESS, -EROFS; -EBUSY other processes change it faster than it can be
 * removed; -ENOSPC the key has no slot, is counted together with others (RL_BY_RESERVE), and cannot
 * be told apart from them, for no slot is to be had. Of many keys: rl_reset_matching().
 */
int rl_reset(struct rl *rl, int rule, const void *key, size_t key_len);

/*
 * Counters by key, for programs that count and decide for themselves. Each counter has a lifetime
 * that begins with its first increment. Counters live in a space, which has a name as a rule has,
 * and share the segment's table with the keys of all rules.
 *
 *	int failed = rl_define_counters(rl, "failed-logins");
 *	struct rl_count count;
 *	if (rl_counter_apply(rl, RL_COUNTER_ADD, &(struct rl_counter_item){.space = failed, .key = ip,
 *	        .key_len = strlen(ip), .amount = 1, .lifetime_ns = 600 * RL_SECOND}, &count) == 1 &&
 *	    count.value > 5)
 *		refuse_for(count.expires_after_ns);
 *
 * What holds
 *
 * - The calls on one key have one order for all processes. An increment is counted once; a call
 *   that returns an error has counted nothing. A process that is killed leaves nothing half done.
 * - A counter that is alive is never evicted, whatever `on_full` says. A counter that finds no slot
 *   is not counted: -ENOSPC.
 * - A counter lives for its lifetime, rounded up to a millisecond, whatever is added to it. After
 *   that it is as if it was never there, and its slot is freed after the segment's buffer, or for a
 *   key that needs it.
 *
 * Bans and overrides do not apply to counters. rl_check() of a space is RL_UNDECIDED with -EINVAL.
 * rl_reset() and the calls of rl_admin.h take the handle of a space as they take a rule's.
 */
#define RL_COUNT_MAX ((UINT64_C(1) << 48) - 1)

struct rl_count {
	uint64_t value;            /* 0 .. RL_COUNT_MAX; 0 if there is none */
	uint64_t expires_after_ns; /* RL_NEVER_NS: never; 0 if there is none */
	int is_new;                /* made by this call */
	unsigned reserved;
};

/*
 * Return the handle of the space of that name, and make the space if it is not there. rl_find()
 * finds it and rl_forget() forgets it. Errors are those of rl_define(), and -EEXIST: the name is a
 * rule's. (rl_define() says the same of a name that is a space's.) A rule of the configuration with
 * that name takes the place of the space: while it is there, calls return -EINVAL, and afterwards
 * the counters of the space start anew.
 */
int rl_define_counters(struct rl *rl, const char *name);

/* What is done with a counter. */
enum rl_counter_op {
	RL_COUNTER_GET = 0,
	RL_COUNTER_ADD = 1,
	RL_COUNTER_SET = 2,
	RL_COUNTER_SET_NEW = 3,
	RL_COUNTER_TOUCH = 4,
	RL_COUNTER_DROP = 5,
};

struct rl_counter_item {
	int space; /* of rl_define_counters() */
	const void *key;
	size_t key_len;
	int64_t amount;       /* ADD: is added, and may be negative; SET, SET_NEW: the value */
	uint64_t lifetime_ns; /* RL_NEVER_NS: without an end */
	uint64_t now_ns;      /* when, on rl_now()'s scale; 0: now */
	uint64_t reserved[2]; /* 0 */
};

/*
 * GET looks: 1, or 0 there is none. Only this works on a read-only handle.
 *
 * ADD adds `amount`. The value stops at 0 and at RL_COUNT_MAX. A counter that is not there is made
 * if amount > 0, and lives for `lifetime_ns` from now. A counter that is there keeps its lifetime.
 * A lifetime of 0 makes no counter. 1 added, 0 there is none.
 *
 * SET sets the value, and a lifetime that begins now. With a lifetime of 0 a counter that is there
 * keeps its own. 1 set, 0 there is none and none is made.
 *
 * SET_NEW sets only if there is no counter: 1 set, 0 there is one, and *count has it.
 *
 * TOUCH lets a counter that is there live for `lifetime_ns` from now, shorter or longer than
 * before, whatever its value: 1, or 0 there is none and none is made.
 *
 * DROP removes the counter: 1 dropped, 0 there was none.
 *
 * *count, if not NULL, is the counter as the call left it; after an error, do not read it. Errors:
 * -EINVAL it is no space, the value is negative or above RL_COUNT_MAX, the lifetime ends after 15
 * May 2109, or is 0 for SET_NEW or TOUCH; RL_EEMPTY; -ENAMETOOLONG; RL_EREMOVED; -ENOSPC; -EBUSY;
 * -ENOMEM; -EROFS.
 */
int rl_counter_apply(struct rl *rl, enum rl_counter_op op, const struct rl_counter_item *item,
                     struct rl_count *count);

/* Whose requests: one key, or many. */
enum rl_match {
	RL_MATCH_KEY = 0,    /* exactly these bytes */
	RL_MATCH_PREFIX = 1, /* every key that begins with these bytes; at most RL_PREFIX_MAX */
	RL_MATCH_NETWORK =
		2, /* every key that is an address in it: "192.0.2.0/24", "2001:db8::/48" */
};

struct rl_pattern {
	enum rl_match match;
	const void *key;
	size_t key_len;
};

/*
 * Ban or exempt the keys that the pattern matches, under one rule or RL_ANY_RULE, until `until_ns`
 * on rl_now()'s scale (RL_NEVER_NS: until rl_unban()), kept to the millisecond. It holds from
 * the next decision of every process, needs no counter, and ends by itself. A banned key is denied
 * with RL_BY_BAN, even by a shadow rule, and retry_after_ns is when nothing bans it any more. An
 * exempt key is allowed with RL_BY_EXEMPTION, and not charged. A second call for the same pattern
 * and rule replaces the first.
 *
 * If several match, the first of these holds: the key itself, the longest network, the longest
 * prefix; of equals, the one for the rule before RL_ANY_RULE. Each holds before the
 * configuration's overrides.
 *
 * The segment has room for at least `bans` of them, and mostly more. RL_EBANS: every slot that
 * this pattern may be in is used. Replacing a ban needs no slot.
 *
 * 0, or: -EINVAL no such rule, or not a pattern; RL_EADDRESS not a network; RL_EBANS; -EBUSY other
 * processes keep changing the same words; -EROFS. rl_unban(): 1 lifted, 0 there was none.
 */
int rl_ban(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns);
int rl_allow(struct rl *rl, int rule, const struct rl_pattern *pattern, uint64_t until_ns);
int rl_unban(struct rl *rl, int rule, const struct rl_pattern *pattern);

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

/* What programs call until they have moved. */
enum rl_verdict rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                            uint64_t now_ns, struct rl_result *result);

enum rl_verdict rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len,
                           uint64_t now_ns, struct rl_result *result);
enum rl_verdict rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                                 struct rl_result *result);
enum rl_verdict rl_check_limits_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                                   struct rl_result *result, size_t *count,
                                   struct rl_result results[RL_LIMITS_MAX]);
enum rl_verdict rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count,
                                uint64_t now_ns, struct rl_result *results, size_t *decided);
void rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                      struct rl_result *results);
enum rl_verdict rl_reserve_at(struct rl *rl, int rule, const void *key, size_t key_len,
                              uint64_t cost, uint64_t max_wait_ns, uint64_t now_ns,
                              struct rl_result *result);
enum rl_verdict rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns,
                                   uint64_t now_ns, struct rl_result *result);
enum rl_verdict rl_reserve_all_at(struct rl *rl, const struct rl_item *items, size_t count,
                                  uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *results,
                                  size_t *decided);
int rl_refund_at(struct rl *rl, struct rl_charges *charges, uint64_t now_ns);
int rl_refund_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns);
int rl_give_back(struct rl *rl);
int rl_counter_add(struct rl *rl, int space, const void *key, size_t key_len, int64_t amount,
                   uint64_t lifetime_ns, struct rl_count *count);
int rl_counter_add_at(struct rl *rl, int space, const void *key, size_t key_len, int64_t amount,
                      uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count);
int rl_counter_get(struct rl *rl, int space, const void *key, size_t key_len,
                   struct rl_count *count);
int rl_counter_get_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns,
                      struct rl_count *count);
int rl_counter_set(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                   uint64_t lifetime_ns, struct rl_count *count);
int rl_counter_set_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                      uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count);
int rl_counter_set_new(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                       uint64_t lifetime_ns, struct rl_count *count);
int rl_counter_set_new_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                          uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count);
int rl_counter_touch(struct rl *rl, int space, const void *key, size_t key_len,
                     uint64_t lifetime_ns, struct rl_count *count);
int rl_counter_touch_at(struct rl *rl, int space, const void *key, size_t key_len,
                        uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count);
int rl_counter_drop(struct rl *rl, int space, const void *key, size_t key_len);
int rl_counter_drop_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns);

/* What an error number means, in a few words; never NULL. */
const char *rl_strerror(int error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
