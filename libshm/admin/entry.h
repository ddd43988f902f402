/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ENTRY_H
#define RL_ENTRY_H

/* A LIVE slot as tools are shown it. Writes nothing. */

#include "decide/decide.h"
#include "segment/record.h"
#include "segment/view.h"

/* A limit at one timestamp, looked up once for many of its slots. */
struct rl_entry_limit {
	const struct rl_compiled *limit; /* NULL: there is no such limit */
	int rule;                        /* -1: it is in no rule any more */
	unsigned index;                  /* which of the rule's */
	struct rl_quota quota;
	uint64_t now_ns;
	struct rl_window_now now; /* the same, as a window of this host has it */
	uint32_t most;            /* the largest cost that is ever admitted */
	bool has_tiers;           /* a key's may be another than `quota`, for its tier */
	bool has_overrides;       /* so all of this may be otherwise for a key */
	bool has_exceptions;      /* a ban or an override may answer for a key */
};

void rl_entry_limit(struct rl *rl, int limit, uint64_t now_ns, struct rl_entry_limit *known);

/* Room for an entry, and for what it points to. */
struct rl_entry_room {
	struct rl_entry entry;
	struct rl_part part; /* of cost 1, that is peeked */
	struct rl_record_copy copy;
	struct rl_picture picture;
	struct rl_count count;
};

/* Before the first is filled. */
void rl_entry_clear(struct rl_entry_room *room);

/*
 * Fill room->entry; false if the slot is the key's no more. `known` is of the tag's limit, and
 * there is one.
 */
bool rl_entry_fill(struct rl *rl, const struct rl_entry_limit *known, struct rl_slot slot,
                   struct rl_entry_room *room);

#endif
