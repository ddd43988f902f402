/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_PICK_H
#define RLCTL_PICK_H

/*
 * Pick the first few of any number of keys in an order of choice, in memory for those few: a
 * heap whose root is the last of those picked so far, which the next better one replaces.
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/command.h"
#include "base/match.h"
#include "key/usage.h"

enum pick_order {
	PICK_USED,      /* most first */
	PICK_DENIED,    /* most first */
	PICK_REMAINING, /* least first */
	PICK_RECENT,    /* newest charge first */
	PICK_KEY,       /* in the order of their bytes */
	PICK_ORDERS
};

extern const char *const pick_order_names[PICK_ORDERS];

/* The order that --sort asks for, if it does; false after a message. */
bool pick_order_option(const struct context *context, enum pick_order *order);

struct item {
	int rule;
	unsigned limit;
	struct usage usage;
	struct key_view key; /* its bytes are a copy */
};

/* What becomes of a key at once, in no order; its bytes are the table's. */
typedef void pick_take(const struct item *item, void *arg);

struct pick {
	/* what is wanted */
	enum pick_order order;
	bool is_reversed;
	pick_take *take; /* or NULL; with it, nothing is kept */
	void *take_arg;
	size_t most; /* 0: all */
	int rule;    /* or RL_ANY_RULE */
	bool is_limited_only;
	const struct match *match; /* or NULL */

	/* what was found */
	struct item *items; /* in heap order until pick_sort() */
	size_t count, room; /* kept, or given to take() */
	uint64_t total;     /* that were wanted, picked or not */
	uint64_t cut;       /* of them, such as matched by the bytes that are kept of them */
};

/* For rl_walk(): false if a prefilter is enough to count the key, or to leave it out. */
int pick_wants(struct pick *pick, const struct rl_prefilter *prefilter);

/* Consider an entry; stale ones never are. */
void pick_add(struct pick *pick, const struct rl_entry *entry);

json_t *item_json(struct rl *rl, const struct item *item);

void pick_sort(struct pick *pick);
void pick_free(struct pick *pick);

#endif
