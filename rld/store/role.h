/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_ROLE_H
#define RLD_STORE_ROLE_H

/*
 * Of nodes that are no cluster, a primary and its replicas: what each is, and which one lends.
 *
 * Two masters would lend the same capacity twice. What tells an old one from its successor is an
 * epoch that stands in the store, "number:replication id": who finds a master whose replication id
 * is another raises it by one. A replica has its master's; so one that was promoted has at least
 * as much, and more as soon as a host has used it; one that was left behind has less, or nothing.
 * The first epoch is the time in ms: a store that has lost all begins above what it had.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "value.h"

#define ROLE_ID 41 /* 40 hex digits */

enum role_kind {
	ROLE_UNKNOWN, /* it has not said so */
	ROLE_UNTOLD,  /* it answers, and refuses to say */
	ROLE_REPLICA,
	ROLE_MASTER
};

struct role {
	enum role_kind kind;
	char id[ROLE_ID], before[ROLE_ID]; /* before: whose successor it is; "" nobody's */
	char epoch_id[ROLE_ID];            /* of the master that the epoch was written for */
	uint64_t epoch;                    /* 0: it has none */
	uint16_t replicas;                 /* that are connected */
};

/* An answer to INFO replication. */
void role_read(struct role *r, const struct store_value *v);

/* An answer to GET of the epoch. */
void role_read_epoch(struct role *r, const struct store_value *v);

enum role_verdict {
	ROLE_NOBODY, /* no master answers */
	ROLE_USE,
	ROLE_OLD, /* a master, and of an epoch before the one that was used last */
	ROLE_TWO  /* two masters, and nothing says which is the later one */
};

struct role_choice {
	enum role_verdict verdict;
	size_t number; /* of the role; of ROLE_NOBODY none */
};

/* `epoch`: the highest that was used. */
struct role_choice role_choose(const struct role *const roles[], size_t count, uint64_t epoch);

/*
 * What a Sentinel answers to SENTINEL MASTER. False: it knows none of that name, or nothing of it.
 */
bool role_named(const struct store_value *v, struct store_address *to, uint64_t *epoch);

/*
 * Raise the epoch where it is another master's: KEYS the epoch's, ARGV the replication id. The
 * answer is the epoch.
 */
extern const char role_claim[];

#endif
