/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_RANKING_H
#define RLCTL_RANKING_H

/*
 * The top N keys by a chosen sort order, in memory for N: a heap whose root is the last of those
 * kept so far. The next better key replaces it.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/command.h"
#include "base/match.h"
#include "key/usage.h"

enum key_order {
	ORDER_USED,      /* most first */
	ORDER_DENIED,    /* most first */
	ORDER_RATE,      /* most denied a second first */
	ORDER_REMAINING, /* least first */
	ORDER_RECENT,    /* newest charge first */
	ORDER_KEY,       /* in the order of their bytes */
	KEY_ORDERS
};

extern const char *const key_order_names[KEY_ORDERS];

/* The order that --sort asks for, if it does; false after a message. */
bool key_order_option(const struct context *context, enum key_order *order);

struct item {
	int rule;
	unsigned limit;
	struct usage usage;
	struct key_view key; /* its bytes are a copy */
};

/* What becomes of a key at once, in no order; its bytes are the table's. */
typedef void ranking_take(const struct item *item, void *arg);

struct ranking {
	/* what is wanted */
	enum key_order order;
	bool is_reversed;
	ranking_take *take; /* or NULL; with it, nothing is kept */
	void *take_arg;
	size_t most; /* 0: all */
	int rule;    /* or RL_ANY_RULE */
	bool is_limited_only;
	const struct match *match; /* or NULL */

	/* what was found */
	struct item *items; /* in heap order until ranking_sort() */
	size_t count, room; /* kept, or given to take() */
	uint64_t total;     /* that were wanted, kept or not */
	uint64_t cut;       /* of them, such as matched by the bytes that are kept of them */
	uint64_t unjudged;  /* not of them: by `match` one cannot tell, for no name is kept */
};

/* For rl_walk(): false if a prefilter is enough to count the key, or to leave it out. */
int ranking_wants(struct ranking *ranking, const struct rl_prefilter *prefilter);

/* Consider an entry; stale ones never are. */
void ranking_add(struct ranking *ranking, const struct rl_entry *entry);

/* `reason`: why it is banned; NULL: it is not, or nobody knows. */
json_t *item_json(struct rl *rl, const struct item *item, const char *reason);

void ranking_sort(struct ranking *ranking);
void ranking_free(struct ranking *ranking);

#endif
