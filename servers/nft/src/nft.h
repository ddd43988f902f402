/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFT_H
#define NFT_H

/*
 * rl-nft: bans of addresses and networks, as two sets of nftables.
 *
 *	main    options, signals, once a second what is to be done
 *	bans    what a segment bans, as spans of addresses that do not overlap
 *	kernel  the table and its sets; what others changed there
 *
 * Each second the bans are read anew and compared with what the sets were given: the difference is
 * one transaction. What ends by itself needs none, for each element has its end.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE "rl"   /* of the family inet */
#define CHAIN "bans" /* of it */
#define RULES_MAX 64 /* --rule */

/*
 * What is left of a ban is given to the kernel in its ticks, of 10 ms at most, and no tick at all
 * means for ever. So what ends sooner than this is left alone.
 */
#define SHORTEST_NS (50 * RL_MILLISECOND)

enum family {
	V4,
	V6,
	FAMILIES
};

/* An address: that of IPv4 is the last 32 bits. */
__extension__ typedef unsigned __int128 address;

/* Banned are these addresses, first and last included, until a time; RL_NEVER_NS: for ever. */
struct span {
	address first, last;
	uint64_t until_ns;
};

struct spans {
	struct span *items; /* in order, and none overlaps another */
	size_t count, room;
};

/*
 * bans.c: what a segment bans for every rule, or under one of `rules`, but what is exempt under any
 * rule, the host's own addresses and loopback. What is wider than a /8, or a /16 of IPv6, is left
 * out, and counted in `too_wide`. A key of IPv6 whose bits behind the first `client_v6` are 0 is
 * that network. 0, or a negative error, and `bans` is as it was.
 */
struct bans {
	struct spans of[FAMILIES];
	uint64_t now_ns; /* when all was read */
	uint64_t too_wide;
};
int bans_read(struct rl *rl, const int *rules, size_t rule_count, unsigned client_v6,
              struct bans *bans);
void bans_free(struct bans *bans);

/* kernel.c: the table as it is to be, and what was put there. */
struct kernel {
	struct mnl_socket *socket;
	uint32_t sequence;
	uint32_t generation; /* of the ruleset, after the last transaction */
	bool has_rules;      /* a chain that drops; false: the sets alone */
	bool is_set;         /* `held` is what the sets have */
	struct spans held[FAMILIES];
	char *batch; /* a transaction that is being written */
	size_t length, room;
};
int kernel_open(struct kernel *kernel, bool has_rules);
void kernel_close(struct kernel *kernel);

/*
 * What is other than it was left, by others' hand: 1, 0, or a negative error. What has ended by
 * rl's clock is no longer there.
 */
int kernel_is_changed(struct kernel *kernel, struct rl *rl);

/*
 * Give the sets what they have not, and take from them what is banned no more, or, if `is_set` is
 * false, make all of it anew; one transaction, which is all or nothing. 0, -ERESTART where others
 * changed the ruleset meanwhile and all is as it was, or another negative error: then `is_set` is
 * false.
 */
int kernel_put(struct kernel *kernel, const struct bans *bans);

/* Remove the table, and all in it; no error if it is not there. */
int kernel_remove(void);

#endif
