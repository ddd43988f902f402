/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ASK_H
#define RL_ASK_H

/* A question to one limit, and its answer. */

#include "rule/address.h"
#include "rule/policy.h"
#include "shared/budget.h"
#include "table/table.h"

enum rl_mode {
	RL_CHARGE,
	RL_PEEK, /* writes nothing */
};

/* A question to one limit. All of it stays in registers where the slot is at hand. */
struct rl_ask {
	const struct rl_segment *segment;
	const struct rl_compiled *limit;
	struct rl_quota quota;
	uint64_t now_ns;
	uint32_t cost;            /* at least 1 */
	unsigned index;           /* which of its rule's limits */
	struct rl_result *result; /* NULL: for the verdict alone */
	uint64_t hash;            /* of the key, whatever the limit */
	struct rl_charge *charge; /* NULL, or to be filled if it is charged */
};

/* The same of a key, whose candidate slots are known. */
struct rl_request {
	struct rl_ask ask;
	struct rl *rl;
	int rule;        /* whose limit, and whose statistics */
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint32_t tier; /* the capacity that it has brought along for this limit; 0: none */
	struct rl_candidates candidates;
	struct rl_slot slot;      /* where it was decided, if slot.tag is not 0 */
	struct rl_budget *budget; /* set by who decides */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* In a charge, the limit's row, and above it the number of the table that it was made in. */
#define RL_CHARGE_LIMIT_BITS 10
#define RL_CHARGE_TABLES 64

static inline uint16_t
rl_charge_limit(const struct rl_ask *a)
{
	uint64_t number = a->segment->table.number % RL_CHARGE_TABLES;

	return (uint16_t)((unsigned)a->limit->id | (unsigned)number << RL_CHARGE_LIMIT_BITS);
}

/* There is no decision yet: somebody else was quicker, or the slot is no longer the key's. */
#define RL_AGAIN (-1)

_Static_assert(RL_LIMIT_ROWS_MAX < 1 << RL_CHARGE_LIMIT_BITS, "a row fits");
_Static_assert(sizeof(struct rl_charge) == 32, "callers keep them");
_Static_assert(sizeof(struct rl_hold) == 32, "as large as a charge");
_Static_assert(sizeof(struct rl_result) == 64, "a line");

static inline uint64_t
rl_until(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == UINT64_MAX) /* an epoch that only damage makes */
		return RL_NEVER_NS;
	return then_ns > now_ns ? then_ns - now_ns : 0;
}

static inline __attribute__((always_inline)) void
rl_fill_result(const struct rl_ask *a, const struct rl_decision *d, enum rl_verdict verdict)
{
	struct rl_result *r = a->result;

	r->verdict = verdict;
	r->error = 0;
	r->reason = RL_BY_LIMIT;
	r->index = a->index;
	r->limit = d->limit;
	r->remaining = d->remaining;
	r->used = d->limit - d->remaining + d->beyond;
	r->retry_after_ns = 0;
	r->reset_after_ns = rl_until(d->reset_at_ns, a->now_ns);
	r->delay_ns = 0;
	r->window_ns = a->limit->limiter.window_ns;
	r->is_shadow_denied = 0;
}

#endif
