/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/rules.h"
#include "rule/limit_check.h"

#include <errno.h>

#include "rule/limit_check.h"
#include "rule/shape.h"
#include "shared/reserved.h"

struct rl_limit
rl_rules_limit(const struct rl_rule *rule, size_t i)
{
	return rl_shape_complete(i == 0 ? &rule->limit : &rule->more[i - 1]);
}

int
rl_rules_check(const struct rl_segment *s, const struct rl_rule *rule, size_t *limit)
{
	*limit = 0;
	if (!rl_rules_name_is_valid(rule->name) || rule->more_count >= RL_LIMITS_MAX ||
	    (!rule->more && rule->more_count > 0) || (rule->flags & ~(unsigned)RL_DEFINE_KEEP) ||
	    !RL_IS_RESERVED(rule->reserved))
		return -EINVAL;
	for (; *limit <= rule->more_count; ++*limit) {
		struct rl_limit l = rl_rules_limit(rule, *limit);
		int error = rl_limit_check(&l, s->geometry.ring, NULL);
		if (error < 0)
			return error;
		if (l.scope == RL_SCOPE_CLUSTER && !s->geometry.clustered)
			return RL_ECLUSTER;
		if (rl_limit_has_prefix(&l) != rl_limit_has_prefix(&rule->limit))
			return -EINVAL;
		if (l.prefetch > 0 && rule->more_count > 0) /* all or nothing is exact */
			return -EINVAL;
	}
	return 0;
}

uint32_t
rl_rule_ring(const struct rl_rule *rule)
{
	uint32_t most = 1;

	if (rule->more_count >= RL_LIMITS_MAX || (!rule->more && rule->more_count > 0))
		return UINT32_MAX;
	for (size_t i = 0; i <= rule->more_count; i++) {
		struct rl_limit l = rl_rules_limit(rule, i);

		if (rl_limit_check(&l, RL_RING_MAX, NULL) < 0)
			return UINT32_MAX;
		if (rl_shape_ring(&l) > most)
			most = rl_shape_ring(&l);
	}
	return most;
}

/* A change of one half changes the other, too, or the incarnation beside it. */
struct rl_u128
rl_rules_identity(const struct rl_segment *s, int limit)
{
	struct rl_u128 identity;

	rl_atomic_load16(&s->limits[limit].identity, &identity);
	return identity;
}

int
rl_rules_row_of(const struct rl_segment *s, struct rl_u128 identity)
{
	for (uint32_t i = 0; i < s->geometry.limits; i++) {
		struct rl_u128 held = rl_rules_identity(s, (int)i);
		if (held.lo == 0)
			return -1;
		if (rl_identity_is(held, identity))
			return (int)i;
	}
	return -1;
}

int
rl_rules_append_row(const struct rl_segment *s, struct rl_u128 identity)
{
	const struct rl_u128 fresh = {.lo = identity.lo | RL_IDENTITY_NEW, .hi = identity.hi};

	for (uint32_t i = 0; i < s->geometry.limits; i++) {
		if (rl_rules_identity(s, (int)i).lo == 0)
			rl_atomic_cas16(&s->limits[i].identity, (struct rl_u128){0}, fresh);
		if (rl_identity_is(rl_rules_identity(s, (int)i), identity))
			return (int)i;
	}
	return -1;
}

/* How many of the limits before the i-th have its shape. */
static unsigned
twins_before(const struct rl_rule *rule, size_t i)
{
	struct rl_limit l = rl_rules_limit(rule, i);
	unsigned twins = 0;

	for (size_t j = 0; j < i; j++) {
		struct rl_limit other = rl_rules_limit(rule, j);
		twins += rl_u128_equal(rl_shape_pack(&other), rl_shape_pack(&l));
	}
	return twins;
}

struct rl_u128
rl_rules_identity_of(int id, const struct rl_rule *rule, size_t i)
{
	struct rl_limit l = rl_rules_limit(rule, i);
	struct rl_u128 identity = rl_shape_pack(&l);

	identity.lo |= RL_IDENTITY_USED | (uint64_t)rl_rule_row(id) << RL_IDENTITY_RULE_SHIFT |
	               (uint64_t)twins_before(rule, i) << RL_IDENTITY_TWIN_SHIFT;
	return identity;
}

void
rl_rules_limits(const struct rl_segment *s, int id, const struct rl_rule *rule,
                struct rl_refs *refs)
{
	*refs = (struct rl_refs){.count = (unsigned)rule->more_count + 1};
	for (unsigned i = 0; i < refs->count; i++)
		refs->limit[i] = rl_rules_row_of(s, rl_rules_identity_of(id, rule, i));
}

/* A read-only handle counts nothing. */
bool
rl_rules_settle(const struct rl_segment *s, int rule, uint64_t g, struct rl_u128 list,
                struct rl_limit_row *row)
{
	uint64_t lo = rl_atomic_load(&row->identity.lo);
	struct rl_u128 now;

	if (!(lo & RL_IDENTITY_NEW) || !s->is_writable)
		return true;
	rl_atomic_fence(); /* first the mark, then whether the limit is in force */
	rl_rules_in_force(s, rule, g, &now);
	return rl_u128_equal(now, list) && rl_atomic_load(&s->header->generation) == g &&
	       rl_atomic_cas(&row->identity.lo, lo, lo & ~RL_IDENTITY_NEW);
}

struct rl_u128
rl_rules_quota_after(struct rl_u128 held, struct rl_u128 identity, const struct rl_limit *complete)
{
	struct rl_u128 next = rl_quota_pack(complete);

	next.lo |= held.lo >> RL_QUOTA_SERIAL_SHIFT << RL_QUOTA_SERIAL_SHIFT;
	next.hi |= rl_identity_incarnation(identity) << RL_QUOTA_INCARNATION_SHIFT;
	return next;
}

/* Before its quota. Who slept while the row was given away has somebody wait for another time. */
void
rl_rules_set_wait(const struct rl_segment *s, int limit, enum rl_bank bank,
                  const struct rl_limit *complete)
{
	uint64_t *word = &s->limits[limit].waits, shift = (uint64_t)RL_ROW_WAIT_BITS * bank;
	uint64_t wait = rl_wait_pack(complete->wait_ns) << shift;

	for (;;) {
		uint64_t held = rl_atomic_load(word);
		uint64_t next = (held & ~(RL_ROW_WAIT_MASK << shift)) | wait;

		if (held == next || rl_atomic_cas(word, held, next))
			return;
		rl_atomic_pause();
	}
}

/*
 * Avoid dirtying a hot cache line: store only on change. A quota has the incarnation beside it that
 * it was written for, so that the CAS of a process that slept while the row was given away fails.
 */
int
rl_rules_set_quota(const struct rl_segment *s, int limit, enum rl_bank bank,
                   struct rl_u128 identity, const struct rl_limit *complete)
{
	struct rl_u128 *word = &s->limits[limit].quota[bank], held, now, next;

	for (int tries = 0; tries < RL_RULES_TRIES; tries++) {
		rl_atomic_load16(word, &held);
		now = rl_rules_identity(s, limit);
		if (!rl_identity_is(now, identity))
			return -EAGAIN;
		next = rl_rules_quota_after(held, now, complete);
		rl_rules_set_wait(s, limit, bank, complete);
		if (rl_u128_equal(held, next) || rl_atomic_cas16(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

static bool
has_wait(const struct rl_segment *s, int limit, enum rl_bank bank, const struct rl_limit *complete)
{
	uint64_t waits = rl_atomic_load(&s->limits[limit].waits);

	return (waits >> RL_ROW_WAIT_BITS * bank & RL_ROW_WAIT_MASK) ==
	       rl_wait_pack(complete->wait_ns);
}

bool
rl_rules_has_quota(const struct rl_segment *s, int limit, enum rl_bank bank,
                   const struct rl_limit *complete)
{
	struct rl_u128 held, quota = rl_quota_pack(complete);

	if (!rl_atomic_load16(&s->limits[limit].quota[bank], &held))
		return false;
	held.lo &= (UINT64_C(1) << RL_QUOTA_SERIAL_SHIFT) - 1;
	held.hi &= ~(RL_IDENTITY_INCARNATION_MASK << RL_QUOTA_INCARNATION_SHIFT);
	return rl_u128_equal(held, quota) && has_wait(s, limit, bank, complete);
}

int
rl_rules_of_identity(const struct rl_segment *s, uint64_t lo)
{
	int rule = (int)(lo >> RL_IDENTITY_RULE_SHIFT & RL_IDENTITY_RULE_MASK);

	return (lo & RL_IDENTITY_USED) && (uint32_t)rule < s->geometry.rules ? rule : -1;
}

int
rl_rules_of_limit(const struct rl_segment *s, int limit)
{
	if (limit < 0 || (uint32_t)limit >= s->geometry.limits)
		return -1;
	return rl_rules_of_identity(s, rl_atomic_load_relaxed(&s->limits[limit].identity.lo));
}

/* From one incarnation to another, later one. */
static uint64_t
incarnations_between(uint64_t one, uint64_t other)
{
	return (other - one) & RL_IDENTITY_INCARNATION_MASK;
}

bool
rl_rules_may_renew(const struct rl_limit_row *row, struct rl_u128 identity)
{
	return incarnations_between(rl_atomic_load(&row->oldest),
	                            rl_identity_incarnation(identity)) < RL_TAG_INCARNATIONS - 1;
}

/* Only forward: of two walks that end at once, one may have begun long before. */
void
rl_rules_note_oldest(struct rl_limit_row *row, struct rl_u128 identity)
{
	uint64_t now = rl_identity_incarnation(identity);

	for (int tries = 0; tries < RL_RULES_TRIES; tries++) {
		uint64_t held = rl_atomic_load(&row->oldest),
			 ahead = incarnations_between(held, now);
		if (ahead == 0 || ahead > RL_IDENTITY_INCARNATION_MASK / 2 ||
		    rl_atomic_cas(&row->oldest, held, now))
			return;
	}
}
