/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_LIST_FORMAT_H
#define RLCTL_LIST_FORMAT_H

/* The forms that list has: a table, JSON, and the keys alone. */

#include "key/item_line.h"
#include "key/list_table.h"

enum list_kind {
	LIST_LINES, /* for a terminal, so that they fit it; or always the same, for a pipe */
	LIST_WIDE,  /* the latter, whatever the terminal */
	LIST_TSV,
	LIST_JSON,
	LIST_WORDS, /* each key once, as a shell takes it */
	LIST_NULS,  /* the same, as it is, with a NUL behind it */
};

struct list_format {
	struct rl *rl;
	enum list_kind kind;
	bool has_head;
	bool is_unordered;       /* for there are too many, though none was asked for */
	bool is_masked;          /* no address is shown in full */
	struct list_table table; /* columns 0: for a pipe */
	struct item_lines lines; /* for LIST_JSON */
	uint64_t count;          /* keys written so far */
	uint64_t unnamed;        /* of which not all bytes are kept */
	char last[RL_KEY_MAX];   /* the key before, for LIST_WORDS and LIST_NULS */
	size_t last_len;
};

/* The keys of a ranking may be measured first. */
void list_format_begin(struct list_format *form, const struct ranking *ranking);
void list_format_item(const struct item *item, void *form);

/* Returns the exit status. */
int list_format_end(struct list_format *form, const struct ranking *ranking);

#endif
