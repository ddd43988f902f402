/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_POLICY_H
#define RLD_CLUSTER_POLICY_H

/*
 * How much capacity to borrow for a key, when to ask and when to give back. No clock, no memory, no
 * store: all is given.
 *
 * Nothing here can let too much through: whatever is asked, the script lends no more than there is,
 * and a share never goes below its load. What is decided well or badly is how many requests are
 * denied though another host has room, and how often the store is asked.
 *
 *	pool is large	ask for a part of it beyond what is in use: the next burst finds it here
 *	short		ask for what was denied, the largest of it at least; again after pauses
 *	                that double while the answers bring nothing
 *	others starve	give back what the next look does not need; of two that are short and
 *	                each need more than a fair part, one gives way by lot
 *	callers wait	keep just what is used: what comes next is asked for while it waits
 *	nobody asks	give back all that is not in use, and in the end forget the key
 */

#include <stdbool.h>
#include <stdint.h>

/* Of the limit. */
struct policy_limit {
	uint64_t capacity, blind;
	uint64_t window_ns, lease_ns;
	uint64_t look_ns;   /* between two looks at a key in use */
	uint64_t answer_ns; /* an answer may take so long: another question makes it void */
	uint64_t hosts;     /* of the cluster; 0 counts as 1 */
	bool is_bucket;
};

/* Of the word, now. */
struct policy_seen {
	uint64_t share, load;
	/* Since the last look: */
	bool is_wished;           /* a worker was denied, or has used most of its capacity */
	uint64_t denied, largest; /* costs that were denied for want of a share: sum, largest */
	bool is_waiting;          /* of those who were denied some come again in milliseconds */
	bool is_called;           /* another host starves, and says so */
	bool is_room;             /* something was given back */
};

/* The memory of a key from look to look. */
struct policy_key {
	double rate; /* tokens a ns */
	uint64_t load, looked_ns, used_ns;
	uint64_t gap_ns; /* between two requests, a mean */
	bool is_waiting; /* its callers come again in milliseconds, or another host's do */
	/* what was denied and is not lent as yet: the largest, all of it, since when */
	uint64_t unmet, sum, unmet_ns;
	uint64_t kept;               /* lent for one who has not come again as yet */
	uint64_t asked_ns, renew_ns; /* renew_ns: by how much the next renewal comes earlier */
	uint64_t room_ns;            /* when there was told to be room */
	uint64_t pause_ns;           /* of a key that is short, till the next question */
	unsigned misses;             /* answers in a row that were not what was needed */
	bool is_open;                /* asked, and not answered */
	/* the last answer */
	bool is_known;
	uint64_t share, pool, hosts, capacity;
	uint64_t starves_until_ns;
};

struct policy_answer {
	uint64_t share, sum, hosts, capacity;
	bool other_starves;
};

struct policy_wish {
	bool is_ask, is_over; /* is_over: nothing is left to remember */
	bool is_short;
	bool is_call;        /* whoever has what he does not use is to be told at once */
	uint64_t want, need; /* nothing beyond what it has helps but `need` */
	uint64_t next_ns;    /* when to look again, unless a worker wishes */
};

/* As the word is found. */
void policy_begin(struct policy_key *k, const struct policy_seen *seen, uint64_t now_ns);

struct policy_wish policy_look(const struct policy_limit *limit, struct policy_key *k,
                               const struct policy_seen *seen, uint64_t now_ns);

/* It is asked now. `random`: any number, for renewals that do not all come at once. */
void policy_asked(struct policy_key *k, uint64_t now_ns, uint64_t random);

/* The answer to the newest question. */
void policy_answered(struct policy_key *k, const struct policy_answer *a, uint64_t now_ns,
                     const struct policy_limit *limit);

/*
 * There is nothing to lend: what was needed was not there four times in a row, also after all were
 * called, and nobody has told of room since. Who is denied meanwhile need not wait for it.
 */
bool policy_is_dry(const struct policy_limit *limit, const struct policy_key *k, uint64_t now_ns);

/* How long one that is short counts for the others. */
uint64_t policy_starve_ns(const struct policy_limit *limit);

#endif
