/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_CLUSTER_H
#define RLD_CLUSTER_CLUSTER_H

/*
 * This host in a cluster: the store, who this host is there, and what is lent to it.
 *
 *	open	 the secret, the store's client, the identity; nothing is connected as yet
 *	announce each third of ANNOUNCE_LIFE: that it is there, with its secret's check; nothing
 *	         is asked before the store has said that the check is right, and nothing after it
 *	         has said that it is not
 *	secret	 where the check that stands there is the one of this host's other file, it takes
 *	         that one from then on
 *	away	 nobody has answered for AWAY_NS: told once, and once when it is over. Limits go
 *	         on by what they say of it
 */

#include <stdio.h>

#include "auto_blind.h"
#include "host_shares.h"
#include "hosts.h"
#include "orders.h"
#include "rules.h"
#include "secret.h"

#define CLUSTER_AWAY_NS (2 * RL_SECOND)
#define CLUSTER_NODES 64
#define CLUSTER_TEXT 256

struct cluster_options {
	const char *nodes[CLUSTER_NODES];
	size_t node_count;
	const char *sentinel; /* what the nodes, Sentinels then, call the master; or NULL */
	const char *user, *password_file, *secret_file; /* user, password_file: or NULL */
	const struct store_tls *tls;                    /* or NULL */
	uint64_t timeout_ns, lease_ns;
	bool lends_without_replica; /* strict limits, too */
	const char *state;          /* a directory for what is kept, or NULL */
	rules_take *take_rules;     /* NULL: rules are each host's own */
	void *take_arg;
	store_report *report;
	void *report_arg;
};

struct cluster {
	struct cluster_options options;
	struct secret secret; /* that is in use there, as far as is known */
	struct secret other;  /* of the files the one that is not; no check: there is none */
	struct identity identity;
	struct store *store;
	struct host_shares shares;
	struct rules rules;
	struct orders orders;
	struct auto_blind auto_blind;
	uint64_t reported_rules; /* the version that it has announced, and whether it is good */
	uint64_t reported_order; /* the number that it has announced */
	char password[CLUSTER_TEXT], name[CLUSTER_TEXT], about[CLUSTER_TEXT];
	uint64_t beat_ns;     /* when to ask whether it is there, if nothing else is asked */
	uint64_t announce_ns; /* when to do it again */
	uint64_t heard_ns,
		away_since_ns; /* heard: when the store last answered; away_since: 0 it is not */
	uint64_t hosts;        /* 0: not known yet */
	struct hosts who;
	struct hosts_most most; /* among whom a capacity is divided while the store is away */
	int64_t skew_ms;        /* how far this host's clock is ahead of the store's */
	bool has_skew;
	bool is_foreign;        /* another secret is in use there */
	char file_trouble[320]; /* of the secrets' files, as it was told last; "" none */
};

/* Of the segment. NULL after telling why. */
struct cluster *cluster_open(const struct cluster_options *options, struct rl *rl,
                             const char *segment, uint64_t now_ns);
void cluster_close(struct cluster *c, uint64_t now_ns);

/* The descriptor to poll for reading, and when to come again. */
int cluster_fd(const struct cluster *c);
uint64_t cluster_run(struct cluster *c, uint64_t now_ns);

#endif
