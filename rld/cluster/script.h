/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_SCRIPT_H
#define RLD_CLUSTER_SCRIPT_H

/*
 * What the store does when it is asked for capacity: one script for one key, atomic there.
 *
 *	KEYS  the counter "rl1:{tag}", its override "rl1:o:{tag}"
 *	ARGV  host, seq, want, need, limit, is_short, lease_ms, hold_ms, starve_ms, is_call
 *
 * The counter is a hash: of each host (an incarnation of a slot is a host of its own)
 * "share:seq:expires", and
 *	t  the sum of shares		n  how many are above 0
 *	x  no share expires before	w  "ms:host", who last got less than it is short of
 *	c  ms of the last call		r  ms of the last word of room
 *	m  ms of the last request
 *
 * A clock that is behind `m` was set back, or is another node's: all times go back with it, so that
 * each share lasts as long as it had to at the last request, and no longer than that.
 *
 * Who needs more than there is gets nothing beyond what it has: two parts of which each helps
 * nobody lock up what one of them could use. So that others give back what they do not use, a call
 * is published on SCRIPT_CHANNEL, and that there is room again when one of them did: "c" or "r",
 * the 32 hex digits of the tag, and the host that asked. Both are hints, lost where nobody may
 * publish: then it is asked again after a pause.
 *
 * What makes lending safe, whatever is lost, late, doubled or reordered on the way:
 *	1. What is above a host's share is granted only from what nobody has: the sum never rises
 *	   above the limit.
 *	2. A share never falls but by its own host's request, below which that host's word is
 *	   already.
 *	3. An older request (seq) changes nothing; the answer is what stands.
 *	4. A share is forgotten lease + hold after its last request, by this clock, never earlier:
 *	   the key lives as long as its longest share, `x` is the earliest.
 */

enum script_argument {
	SCRIPT_HOST,
	SCRIPT_SEQ,
	SCRIPT_WANT,
	SCRIPT_NEED, /* to admit what was denied: not halved, and less is nothing */
	SCRIPT_LIMIT,
	SCRIPT_IS_SHORT,
	SCRIPT_LEASE_MS,
	SCRIPT_HOLD_MS,
	SCRIPT_STARVE_MS, /* how long one that is short counts */
	SCRIPT_IS_CALL,   /* others are to give back what they do not use */
	SCRIPT_ARGUMENTS
};

enum script_answer {
	ANSWER_SHARE,
	ANSWER_SUM,
	ANSWER_HOSTS,
	ANSWER_OTHER_STARVES,
	ANSWER_LIMIT, /* that counts: the override's, where there is one */
	ANSWER_HAS_OVERRIDE,
	ANSWER_SEQ, /* that stands: a newer one than was ever sent is another host with this name */
	ANSWER_NOW_MS,
	ANSWERS
};

#define SCRIPT_CHANNEL "rl1:calls"

extern const char script_take[];

/*
 * A host says that it is there, and is told how many are.
 *
 *	KEYS  "rl1:{hosts}", a hash of "until:what it says of itself" by host; "rl1:{hosts}:check"
 *	ARGV  host, check, life_ms, what it says of itself; an empty host only asks
 *
 * The answer: how many hosts, now in ms, and who they are. An error RLSECRET, with the check that
 * stands there, where that is another's: the first host with a secret leaves its own, which stands
 * for an hour after the last one has announced itself.
 */
extern const char script_announce[];

#define SCRIPT_HOSTS "rl1:{hosts}"
#define SCRIPT_CHECK "rl1:{hosts}:check"
#define SCRIPT_EPOCH "rl1:{hosts}:epoch" /* store/role.h */

/*
 * Another secret from now on: KEYS SCRIPT_CHECK, ARGV the check that is to stand there, the one
 * that is to follow. 1, or an error RLSECRET with the one that stands there.
 */
extern const char script_switch[];

/*
 * A host says by what the blind part is divided there: 1 << step, for so long. KEYS
 * SCRIPT_BLIND_HOSTS, a hash of "until:step:age_ms" by host; ARGV host, how long to keep it in ms,
 * step, age in ms. The answer: how many hosts there are; 1 where this one was among them; of the
 * others the least step, and the least age in ms, -1 without any.
 */
extern const char script_blind[];

#define SCRIPT_BLIND_HOSTS "rl1:{hosts}:blind"

/*
 * Put a document of rules in the place of the one of a version: KEYS RULES_KEY; ARGV the version
 * that is there (0 none), SHA-256, text. The answer is the new version, or an error RLVERSION with
 * the one that is there.
 */
extern const char script_push[];

/*
 * Orders for all hosts: of each subject the last. KEYS "rl1:{orders}", a hash of what is sealed by
 * its name; "rl1:{orders}:n", names by number; "rl1:{orders}:u", names by when they are over.
 *
 *	give	ARGV name, sealed, life_ms. The answer is its number: microseconds of the store's
 *	        clock, and above all before. An error RLFULL: too many are kept
 *	read	ARGV number, how many at most. The answer: now in us, the highest number, and name,
 *	        number, sealed of each above that number, in their order
 */
extern const char script_give_order[];

/*
 * Seal an order with another secret: its number and end stay. KEYS as above, ARGV its name, the
 * one that it has from now on, sealed. 1, or 0 where it is gone, or was given anew meanwhile.
 */
extern const char script_reseal[];
extern const char script_read_orders[];

#define SCRIPT_ORDERS "rl1:{orders}"
#define SCRIPT_ORDERS_BY_NUMBER "rl1:{orders}:n"
#define SCRIPT_ORDERS_BY_END "rl1:{orders}:u"

/*
 * Take a host off the list that is no more there. KEYS SCRIPT_HOSTS, ARGV host. 1 done, 0 there was
 * none, -1 it is there.
 */
extern const char script_forget[];

enum script_number { /* of the store's scripts */
	SCRIPT_TAKE,
	SCRIPT_ANNOUNCE,
	SCRIPT_READ_ORDERS,
	SCRIPT_BLIND
};

#endif
