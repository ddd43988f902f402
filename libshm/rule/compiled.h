/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_COMPILED_H
#define RL_COMPILED_H

#include "rule/address.h"
#include "rule/shape.h"
#include "segment/segment.h"
#include "shared/layout_rows.h"

/* A limit as this process uses it: checked once. */
struct rl_compiled {
	struct rl_limiter limiter;
	struct rl_limiter overflow; /* of the overflow counters that count its keys without a slot,
	                               if */
	bool has_overflow;          /* it has any */
	struct rl_limit_row *row;
	uint64_t salt;               /* makes a key's hash its own: see rl_rules_salt() */
	struct rl_compiled *earlier; /* of the same row */
	uint64_t identity;           /* the low half, without marks */
	uint64_t owner;              /* of its keys' tags: rl_tag_owner() */
	int id;                      /* the row's index */
	int rule;                    /* the index of its rule's */
	uint8_t prefix_v4;           /* 0: that family is not counted */
	uint8_t prefix_v6;
	bool has_prefix;
};

/* Is the row still the limit's, in this incarnation? */
static inline bool
rl_compiled_holds(const struct rl_compiled *limit)
{
	uint64_t identity = rl_atomic_load(&limit->row->identity.lo);

	return (identity & ~RL_IDENTITY_MARKS) == limit->identity;
}

/* Is the tag of a key that the limit counts, in this incarnation? */
static inline bool
rl_compiled_owns(const struct rl_compiled *limit, uint64_t tag)
{
	return (tag & RL_TAG_OWNER_MASK) == limit->owner;
}

/* How many bits of an address the limit counts by; 0: it does not count it. */
static inline unsigned
rl_compiled_prefix(const struct rl_compiled *limit, const struct rl_address *address)
{
	return address->bits == 32 ? limit->prefix_v4 : limit->prefix_v6;
}

/* What it needs of who asks about its rule, of enum rl_need; `limit` may be NULL. */
static inline unsigned
rl_compiled_needs(const struct rl_compiled *limit)
{
	return (limit && limit->limiter.is_held ? (unsigned)RL_NEEDS_CHARGES : 0) |
	       (limit && limit->has_prefix ? (unsigned)RL_NEEDS_ADDRESS : 0);
}

/*
 * What a limit mixes into the hashes of its keys, or did so many incarnations of its row ago:
 * keyed, of its id and incarnation. So a key is hashed once for all of its limits, and still lies
 * elsewhere under each; and keys of another incarnation are other keys.
 */
uint64_t rl_rules_salt(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t ago);

/* False if there is no such limit, or its row is damaged. */
bool rl_rules_compile(const struct rl_segment *s, int limit, struct rl_compiled *compiled);

#endif
