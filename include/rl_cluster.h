/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CLUSTER_H
#define RL_CLUSTER_H

/*
 * rl for the one process of a host that lends capacity to it: what a limit of a cluster
 * (RL_SCOPE_CLUSTER) may admit on this host. Workers need rl.h alone.
 *
 * A share is how much of a key's capacity this host may use. It stands in the key's state word,
 * beside what the key counts, so a charge and a change of the share are each one CAS of the same
 * word. A worker admits while what the word counts is at most `share + blind` and at most the
 * capacity, or at most the share where that is more than the capacity: the store gives this key
 * more than its rule does. The share counts while the segment's clock is before `shares_until`, for
 * all keys alike. From then on the limit's `away` says what it is worth.
 *
 * The store that shares are of is not of this header's concern. What it promises and wants:
 *
 *	the store never lends more than the capacity, to all hosts together; before a host asks the
 *	store for less, it lowers the word (rl_share_lower), and asks for no less than the word then
 *	counts (`load`) or has (`share`); the word is set to an answer (rl_share_set) only after
 *	that came, to the newest request of the incarnation, and only if its lease ends at
 *	shares_until or later; before shares_until is moved on (rl_share_advance), each share whose
 *	lease ends before it is ended (rl_share_end).
 *
 * One process at a time calls what writes: rl_supervise() is its lock. A caller that is killed
 * between two calls leaves words that are right; rl_share_scan() finds them again.
 *
 * All times are of the segment's clock, in nanoseconds, as rl_now() has it. `now_ns` is read before
 * the call, and to set an answer, after that came. Shares and loads are in units of cost (tokens,
 * of a bucket). Calls that write return -EROFS on a read-only handle, and all return RL_ECLUSTER if
 * the segment was not made for a cluster (RL_OPEN_CLUSTER).
 */

#include <rl_admin.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * A key's stay in a slot, from its claim until it is retired. Opaque but for comparisons. It goes
 * on while the segment is resized (rl_resize()): each call finds the key in the table that it has
 * moved to, if its share is not 0, and rl_share.of is then where it is. Two of the same table and
 * slot with the same tag are one.
 */
struct rl_incarnation {
	uint64_t slot;
	uint64_t tag;
	uint64_t table;    /* as rl_info.table */
	uint64_t key_hash; /* 0: not known, for its record is torn; then it cannot be followed */
};

/* What a key's word says at one instant. */
struct rl_share {
	struct rl_incarnation of;
	uint32_t number; /* of the incarnation at its slot: it comes back after 1,792 others */
	int rule;        /* handle */
	unsigned limit;  /* index of the limit in its rule */
	uint32_t share;  /* never more than was set; a large capacity is lent in units, see below */
	uint32_t load; /* what counts, by the word alone: never less than what an admission sees */
	uint32_t shared;  /* what the store shares out for this key: its capacity; of a bucket its
	                     size */
	uint32_t blind;   /* what this host admits beside the share; 0: strict */
	uint64_t hold_ns; /* for how long at most a charge counts that is made now */
	int has_hash;     /* 0: the key's record was cut off, torn or is of another secret; a worker
	                     that wishes for a share writes it again */
	uint64_t hash[2]; /* the key under the cluster's secret: the same on every host */
	/*
	 * Of a wish, what was denied since the last one was taken for want of a share: the sum of
	 * the costs, which may be less from 8,192 on and ends at `shared`, the largest of them, and
	 * whether one of those who were denied comes again in milliseconds. All 0: the share runs
	 * low; and where it is no wish.
	 */
	uint32_t denied, largest;
	int waits;
	int is_auto; /* `blind` follows the number of hosts: 0 is not strict */
};

struct rl_cluster_info {
	uint64_t shares_until_ns; /* 0: no share was ever lent */
	uint32_t hosts;           /* among which RL_AWAY_LOCAL_SHARE divides; 0: not known yet */
	int has_secret;           /* some process has set one */
	uint64_t blind_until_ns;  /* as rl_cluster_blind() has set it; 0: never */
	uint64_t blind_hosts;
	uint64_t reserved[2];
};

/* 0 or RL_ECLUSTER. */
int rl_cluster_info(const struct rl *rl, struct rl_cluster_info *info);

/*
 * Set the secret of the cluster, 32 bytes, from which each key's hash is made: not before all hosts
 * have the same. The segment keeps 16 bytes of it, which do not tell it. With another secret than
 * before, hashes that were kept are none. 0.
 */
int rl_cluster_secret(struct rl *rl, const unsigned char secret[32]);

/* Set among how many hosts RL_AWAY_LOCAL_SHARE divides, 1 or more. 0 or -EINVAL. */
int rl_cluster_hosts(struct rl *rl, uint32_t hosts);

#define RL_BLIND_AUTO_MAX (600 * RL_SECOND) /* windows, and times to fill, of RL_BLIND_AUTO */

/*
 * Set of how many hosts limits with RL_BLIND_AUTO are: until then, by the segment's clock, this
 * one admits a twentieth of the capacity divided by `hosts` beside its share, rounded down; after
 * that nothing. `hosts` is a power of two up to 2^28; `until_ns` is kept in units of 64 ns. 0 or
 * -EINVAL.
 */
int rl_cluster_blind(struct rl *rl, uint64_t hosts, uint64_t until_ns);

/*
 * Call `visit` for keys of `count` slots from `first` on that have a share. Slots are numbered as
 * by rl_walk_slots(): those of the table before, if keys are moving from it, follow. All of them
 * once, at a start, from the last to the first, as one call goes, so that no key moves past; and
 * once more if rl_info.table is another then. Stops when visit() returns other than 0, and returns
 * that; else 0. -EBUSY: one changes too fast: again. -EINVAL: there is no slot `first`.
 */
int rl_share_scan(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
                  int (*visit)(const struct rl_share *share, void *arg), void *arg);

/*
 * What a slot's key has, of the same numbers. 0; -ESTALE: it is not a key of the cluster; -EBUSY;
 * -EINVAL: there is no such slot.
 */
int rl_share_at(struct rl *rl, uint64_t slot, uint64_t now_ns, struct rl_share *share);

/*
 * Take the wishes: call `visit` for each key of which a worker has noted since the last call that
 * its share is nearly used up, or has denied. A wish is cleared before the word is read, so none is
 * lost but by a kill in between; then the next request notes it again. Begins at slot *from, and
 * leaves there where to go on; 0 once all were looked for. Goes through `most` wishes, and up to 63
 * more; the others stay. Returns how many there were, or what visit() returned if that was
 * negative.
 */
int rl_share_wishes(struct rl *rl, uint64_t *from, unsigned most, uint64_t now_ns,
                    int (*visit)(const struct rl_share *share, void *arg), void *arg);

/* Read one. 0; -ESTALE: the slot is no more that incarnation's; -EBUSY: it changes too fast. */
int rl_share_read(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
                  struct rl_share *share);

/*
 * Say whether the store has nothing to lend to it: until it has, who is denied is told so at once,
 * and not to come again (RL_BY_SHARE). 0, -ESTALE, -EBUSY.
 */
int rl_share_dry(struct rl *rl, const struct rl_incarnation *of, int is_dry, uint64_t now_ns);

/*
 * Lower the share to `to`, or to as much above that as the load needs. *share is what the word is
 * then: ask the store for max(share, load) or more. Never raises. 0, -ESTALE, -EBUSY.
 */
int rl_share_lower(struct rl *rl, const struct rl_incarnation *of, uint32_t to, uint64_t now_ns,
                   struct rl_share *share);

/* The lease of the share is over, or not known: it is 0, whatever the load. 0, -ESTALE, -EBUSY. */
int rl_share_end(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
                 struct rl_share *share);

/*
 * Set the share to an answer. A large capacity is lent in units of capacity / 65,535, rounded up:
 * what is not a whole unit is left out. A key that was never charged counts from now on what its
 * overflow counter counts of it, or nothing, and has the share. 0, -ESTALE, -EBUSY.
 */
int rl_share_set(struct rl *rl, const struct rl_incarnation *of, uint32_t to, uint64_t now_ns,
                 struct rl_share *share);

/* Move shares_until on. An earlier time than it is changes nothing. 0. */
int rl_share_advance(struct rl *rl, uint64_t until_ns);

/*
 * Tell what has befallen the cluster, as one of the segment's events from RL_EVENT_ORDER on.
 * `text`, at most 24 bytes of it, is the event's key, or NULL; `value` its retry_after_ns; `author`
 * counts for an order. 0, or -EINVAL for another kind.
 */
int rl_cluster_report(struct rl *rl, enum rl_event_kind kind, int rule, const char *text,
                      uint64_t value, uid_t author);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
