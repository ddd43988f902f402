/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TOP_STATE_H
#define RLCTL_TOP_STATE_H

/* The contents of top, and how far its user has come. */

#include "base/command.h"
#include "base/match.h"
#include "top/top_model.h"

#define TOP_INPUT_MAX 128

enum top_mode {
	TOP_KEYS,    /* the main screen */
	TOP_FILTER,  /* typing a filter */
	TOP_EXPLAIN, /* reading what get says of the key */
	TOP_HELP,
	TOP_RESET, /* asked whether to reset the key */
	TOP_FOR,   /* typing how long to ban it */
	TOP_BAN,   /* asked whether to ban it */
	TOP_LIFT,  /* asked whether to lift what stands for it */
};

struct top_ui {
	const struct context *context;
	struct top_model *model;
	uint64_t interval_ns;
	enum top_mode mode;
	bool is_paused;
	bool is_over;
	bool wants_look; /* at the keys, without waiting for its time */

	size_t selected, first;
	struct item chosen; /* the selected key; its bytes are a copy */

	char input[TOP_INPUT_MAX];
	bool is_prefilled; /* the input is a proposal, nothing of it typed */
	bool is_exemption; /* of TOP_FOR and TOP_BAN */
	char filter[TOP_INPUT_MAX];
	char glob[TOP_INPUT_MAX + 2]; /* the filter, or with * around it */
	struct match match;

	char *text; /* of TOP_EXPLAIN */
	size_t scroll;
	uint64_t ban_ns;
	char message[256];
};

#endif
