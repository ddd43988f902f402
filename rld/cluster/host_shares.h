/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_HOST_SHARES_H
#define RLD_CLUSTER_HOST_SHARES_H

/*
 * What this host may admit of the cluster's limits: asked for at the store, set in the segment,
 * given back.
 *
 *	wish, or due	the word is lowered to what the policy wants, if that is less; then the
 *	                store is asked for it
 *	answer		of the newest question of this incarnation alone, and only with a lease that
 *	                ends at shares_until or later: the word is set to it
 *	advance		shares whose lease ends before are ended first; then shares_until is moved
 *	                on
 *
 * Nothing here is waited for, and a round does no more than SHARES_WORK keys. What is remembered
 * can be lost at any instruction: the next daemon scans the words for shares, whose leases it takes
 * to end at shares_until.
 *
 * Two clocks: what the loop waits by (monotonic), and the segment's for everything that is lent.
 */

#include <rl_cluster.h>
#include <store/store.h>

#include "identity.h"
#include "keys.h"
#include "leases.h"
#include "rule_shares.h"

#define SHARES_WORK 2000u /* keys a round; at 1 us each well below a tick */

struct share_counts {
	uint64_t heard; /* hints of keys that are known here */
	uint64_t asks, answers, late, unanswered,
		foreign; /* late: not of the newest question, or of a lease that is over */
	uint64_t raised, lowered, ended;
	uint64_t keys;
	uint64_t without_hash; /* keys of which the segment has no hash as yet */
};

struct share_left {
	struct rl_share share;
	struct key_name name;
};

struct host_shares {
	struct rl *rl;
	struct store *store;
	struct identity *identity;
	store_report *report;
	void *report_arg;
	uint64_t lease_ns, timeout_ns; /* of a share; of an answer */
	uint64_t table,
		to_scan;     /* at the start: of that table, the slots that are still to be looked
		                through */
	uint64_t wished;     /* slot: where to look for wishes */
	uint64_t until_ns;   /* shares_until, as this daemon has set it */
	uint64_t advance_ns; /* when to look at it again */
	uint32_t straggler;  /* number of the key up to which stragglers were ended */
	bool is_ending;
	struct keys keys;
	struct leases leases;
	struct rule_shares of_rules;
	struct share_left *left; /* of keys that were reset, to be given back */
	size_t left_count, left_room;
	struct share_counts counts;
	uint64_t random, now_ns; /* now_ns: of the round, monotonic */
	uint64_t hosts;          /* of the cluster, as far as is known */
	uint64_t hurry_ns;       /* by the segment's clock: until then callers wait */
	uint64_t round_ns;       /* by the same, when wishes were taken */
	uint64_t answered_ns;    /* by the segment's clock: when the store last answered anything */
	bool is_allowed;         /* the store is one of this secret */
};

/* 0 or -errno. */
int host_shares_open(struct host_shares *l, uint64_t now_ns);
void host_shares_close(struct host_shares *l);

/*
 * rl_reset() of one key, and what this host had borrowed for it is given back at once: nobody waits
 * for its lease.
 */
int host_shares_reset(struct host_shares *l, int rule, const void *key, size_t key_len);

/*
 * The same of all keys that rl_reset_matching() resets. What was borrowed for them is given back in
 * the rounds that follow, SHARES_WORK keys in each at most.
 */
int host_shares_reset_many(struct host_shares *l, int rule, const struct rl_pattern *pattern);

/*
 * Another host needs what this one does not use of that key, or has given something back. No more
 * than a hint.
 */
void host_shares_hear(struct host_shares *l, const uint64_t hash[2], bool is_room);

/*
 * Begin anew under another secret: what was lent under the one before is used no more, and lapses
 * in the store. 0 or an error.
 */
int host_shares_change_secret(struct host_shares *l, const unsigned char secret[32]);

/* Do what is due. Returns when to come again: sooner while callers wait. */
uint64_t host_shares_run(struct host_shares *l, uint64_t now_ns);

#endif
