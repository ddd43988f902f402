/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_ORDERS_H
#define RLD_CLUSTER_ORDERS_H

/*
 * Orders for all hosts are read from the store now and again, and carried out in their order, each
 * once. The number of the last one is kept on disk: a host that was away does what it has missed.
 * One that has no such number, for it is new or has no disk, does all that are kept, which are bans
 * that stand; but no reset of a time before it.
 */

#include "host_shares.h"
#include "secret.h"

#define ORDERS_EVERY_NS (2 * RL_SECOND)
#define ORDERS_AGAIN_NS (100 * RL_MILLISECOND) /* where no answer came */
#define ORDERS_BATCH "100"

struct orders {
	struct rl *rl;
	struct store *store;
	struct host_shares *shares;
	const struct secret *secret, *other; /* other: until all orders are sealed with one */
	store_report *report;
	void *report_arg;
	char path[256]; /* of the number; "" it is not kept */
	uint64_t due_ns;
	uint64_t number; /* of the last one that was carried out; 0 none */
	uint64_t begin;  /* resets with a number below are of before; 0: not known yet */
	bool is_asked;
};

/* `state`: the directory, or NULL. */
void orders_open(struct orders *o, const char *state, const char *segment);

void orders_run(struct orders *o, uint64_t now_ns, uint64_t random);

#endif
