/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_ASK_H
#define RLCTL_REPLAY_ASK_H

#include "base/command.h"
#include "replay/detect.h"
#include "replay/key.h"
#include "replay/where.h"

#define WHERES_MAX 8

/* The user's question about the lines. */
struct ask {
	struct format_choice format;
	struct wants wants;
	const char *key_text; /* as given, or by default */
	struct key_spec key;
	struct where where[WHERES_MAX];
	size_t where_count;
	uint64_t since_ns, until_ns; /* from, and before */
	bool has_cost, has_actual, has_lasts;
	size_t cost, actual, lasts; /* the fields that are wanted */
};

/* As the command line has it; false after a message. ask_free() is due in any case. */
bool ask_read(const struct context *context, struct ask *ask);

void ask_free(struct ask *ask);

#endif
