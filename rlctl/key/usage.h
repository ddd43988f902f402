/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_USAGE_H
#define RLCTL_USAGE_H

/* The part of a key that every verb shows alike. */

#include <rl_admin.h>
#include <stdbool.h>

#include "base/colour.h"
#include "base/output.h"
#include "text/duration.h"

/* A copy of an rl_entry that outlives its visit, without the key. */
struct usage {
	bool is_counter; /* of rl_define_counters(): has no limit, and resets when it expires */
	bool is_held;    /* in flight: what is used comes back when it is given back, at no known
	                    time */
	uint32_t limit;
	uint64_t used;
	uint32_t remaining;
	uint32_t tier; /* 0: none; the rest is by it, if the key has no override */
	enum rl_entry_state state;
	bool is_state_known;
	bool is_limited;       /* denied, by the limit or by a ban */
	uint64_t denied;       /* exact while it is small, */
	uint64_t denied_error; /* and else give or take so many */
	double denied_rate;    /* a second, of late */
	uint64_t newest_ns;    /* when its newest charge was, or its sub-bucket began; 0 unknown */
	uint64_t retry_after_ns;
	uint64_t reset_after_ns;
};

struct usage usage_of(const struct rl_entry *entry);

/*
 * How many were denied, as people see it: "301", "~1.0k". And how many a second: "0.3", "~12k",
 * "-".
 */
#define DENIED_TEXT_MAX 24
const char *usage_denied(const struct usage *usage, char text[DENIED_TEXT_MAX]);
const char *usage_denied_rate(const struct usage *usage, char text[DENIED_TEXT_MAX]);

/* When the next request goes again, and when nothing counts any more; "-": nobody knows. */
struct duration_text usage_retry(const struct usage *usage);
struct duration_text usage_reset(const struct usage *usage);

/* As people see it: "limited", "banned"; with a ? behind it where a ban might say otherwise. */
const char *usage_state(const struct usage *usage);

/* The same in JSON, where what is not known is said beside it. */
const char *usage_state_name(const struct usage *usage);
/* Limited and banned ones are seen from afar. */
enum colour usage_colour(const struct usage *usage);

json_t *json_tier(uint32_t tier); /* null: none */
void json_put_usage(json_t *object, const struct usage *usage);

/* The key as the entry has it; its bytes live as long as the entry. */
struct key_view entry_key(const struct rl_entry *entry);

/* True if every byte of the key is there, so that it can be named to the library. */
bool entry_has_key(const struct rl_entry *entry);

#endif
