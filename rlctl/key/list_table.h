/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LIST_TABLE_H
#define RLCTL_LIST_TABLE_H

/*
 * The keys of list as lines that fit a terminal. Columns are as wide as what is in them. The key
 * is what one looks for: for a long one, the columns that tell least go first, and only then it
 * is cut.
 */

#include "key/ranking.h"

enum list_column {
	LIST_USED,
	LIST_LIMIT,
	LIST_REMAINING,
	LIST_STATE,
	LIST_RETRY,
	LIST_RESET,
	LIST_DENIED,
	LIST_RATE,
	LIST_RULE,
	LIST_COLUMNS
};

struct list_table {
	struct rl *rl;
	size_t columns; /* of the terminal */
	size_t width[LIST_COLUMNS];
	bool is_shown[LIST_COLUMNS];
	size_t key; /* the longest; then, what there is room for */
};

struct list_table list_table_open(struct rl *rl, size_t columns);

/* First all that is to be shown, then what fits, then the lines. */
void list_table_measure(struct list_table *table, const struct item *item);
void list_table_fit(struct list_table *table);
void list_table_head(const struct list_table *table);
void list_table_print(const struct list_table *table, const struct item *item);

#endif
