/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/rules.h"

#include "algorithm/cell.h"

#include <errno.h>
#include <string.h>

#include "shared/reserved.h"

#define NAME_DOMAIN (UINT64_C(1) << 40) /* above any limit's id: see rl_rules_mix() */

#define TRIES 1000           /* to read what is being configured, or to change a word */
#define INCARNATION_SHIFT 10 /* above a limit's id */

uint64_t
rl_rules_name_hash(const struct rl_segment *s, const char *name)
{
	return rl_hash_with(s->key, NAME_DOMAIN, name, strlen(name)).a | 1;
}

static const char name_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/";

bool
rl_rules_name_has(char byte)
{
	return byte != '\0' && strchr(name_bytes, byte);
}

bool
rl_rules_name_is_valid(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return len > 0 && len <= RL_NAME_MAX && strspn(name, name_bytes) == len;
}

/*
 * Every claimer writes the same bytes, so it does not matter who else does. One who slept until the
 * row was another's puts back what he found; only if he is killed just then, that name is lost to
 * people until its rule is defined again.
 */
void
rl_rules_write_name(const struct rl_segment *s, int at, const char *name)
{
	struct rl_row *row = &s->rows[at];
	uint64_t words[RL_NAME_MAX / 8 + 1] = {0}, hash = rl_rules_name_hash(s, name);

	memcpy(words, name, strlen(name));
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		uint64_t found = rl_atomic_load(&row->name[i]);
		if (found == words[i] || rl_atomic_load(&row->name_hash) != hash ||
		    !rl_atomic_cas(&row->name[i], found, words[i]))
			continue;
		rl_atomic_fence(); /* first the word, then whose it is */
		if (rl_atomic_load(&row->name_hash) != hash)
			rl_atomic_cas(&row->name[i], words[i], found);
	}
}

void
rl_rules_name(const struct rl_segment *s, int rule, char name[static RL_NAME_MAX + 1])
{
	const struct rl_row *row = rl_rules_at(s, rule);
	uint64_t words[RL_NAME_MAX / 8 + 1];

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		words[i] = rl_atomic_load_relaxed(&row->name[i]);
	memcpy(name, words, RL_NAME_MAX);
	name[RL_NAME_MAX] = '\0';
	if (!rl_rules_name_is_valid(name) ||
	    rl_rules_name_hash(s, name) != rl_atomic_load(&row->name_hash))
		name[0] = '\0';
}

int
rl_rules_append(const struct rl_segment *s, const char *name)
{
	uint64_t hash;
	int at;

	if (!rl_rules_name_is_valid(name))
		return -EINVAL;
	hash = rl_rules_name_hash(s, name);
	for (uint32_t i = 0; i < s->geometry.rules; i++) {
		struct rl_row *row = &s->rows[i];
		if (rl_atomic_load(&row->name_hash) == 0)
			rl_atomic_cas(&row->name_hash, 0, hash);
		if (rl_atomic_load(&row->name_hash) == hash) {
			rl_rules_write_name(s, (int)i, name);
			break;
		}
	}
	at = rl_rules_seek(s, name);
	return at < 0 ? RL_ERULES : at;
}

int
rl_rules_seek(const struct rl_segment *s, const char *name)
{
	struct rl_u128 held = {.lo = 1};
	uint64_t hash;

	if (!rl_rules_name_is_valid(name))
		return -ENOENT;
	hash = rl_rules_name_hash(s, name);
	for (uint32_t i = 0; i < s->geometry.rules && held.lo != 0; i++) {
		rl_atomic_load16(&s->rows[i].identity, &held);
		if (held.lo == hash)
			return rl_rule_handle((int)i, held.hi);
	}
	return -ENOENT;
}

int
rl_rules_set_flags(const struct rl_segment *s, int rule, uint64_t flags, bool is_set)
{
	uint64_t *word = &s->rows[rl_rule_row(rule)].flags;

	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t held = rl_atomic_load(word), next = is_set ? held | flags : held & ~flags;
		if (!rl_rule_has_flags(rule, held))
			return -EAGAIN;
		if (held == next || rl_atomic_cas(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

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
		int error = rl_shape_check(&l, s->geometry.ring);
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

struct rl_u128
rl_refs_pack(const struct rl_refs *refs)
{
	struct rl_u128 word = {0};

	for (unsigned i = 0; i < refs->count; i++) {
		uint64_t ref = (uint64_t)(refs->limit[i] + 1) << RL_REF_BITS * (i % RL_REFS_LOW);
		if (i < RL_REFS_LOW)
			word.lo |= ref;
		else
			word.hi |= ref;
	}
	return word;
}

static void
unpack_refs(const struct rl_segment *s, struct rl_u128 packed, struct rl_refs *refs)
{
	int limit;

	refs->count = 0;
	while (refs->count < RL_LIMITS_MAX && (limit = rl_refs_take(s, &packed)) >= 0)
		refs->limit[refs->count++] = limit;
}

void
rl_rules_refs(const struct rl_segment *s, int row, enum rl_bank bank, struct rl_refs *refs)
{
	struct rl_u128 packed;

	rl_atomic_load16(&s->rows[row].limits[bank], &packed);
	rl_atomic_fence(); /* whose the row is then: not before the list */
	refs->count = 0;
	if (rl_refs_are_of(s, rl_rules_handle(s, row), packed))
		unpack_refs(s, packed, refs);
}

enum rl_bank
rl_rules_list(const struct rl_segment *s, int rule, uint64_t g, struct rl_refs *refs)
{
	struct rl_u128 packed;
	enum rl_bank bank = rl_rules_in_force(s, rule, g, &packed);

	unpack_refs(s, packed, refs);
	return bank;
}

enum rl_bank
rl_rules_now(const struct rl_segment *s, int rule, struct rl_refs *refs)
{
	enum rl_bank bank;
	uint64_t g, again = rl_atomic_load(&s->header->generation);
	int tries = 0;

	do {
		g = again;
		bank = rl_rules_list(s, rule, g, refs);
		rl_atomic_fence(); /* as in rl_policy_load() */
		again = rl_atomic_load(&s->header->generation);
	} while (again != g && ++tries < TRIES);
	return bank;
}

/* A row that is being given away has empty lists for a moment; the rule has not. */
enum rl_bank
rl_rules_row_now(const struct rl_segment *s, int row, struct rl_refs *refs)
{
	int rule, again = rl_rules_handle(s, row), tries = 0;
	enum rl_bank bank;

	do {
		rule = again;
		bank = rl_rules_now(s, rule, refs);
		rl_atomic_fence(); /* as in rl_rules_refs() */
		again = rl_rules_handle(s, row);
	} while (again != rule && ++tries < TRIES);
	return bank;
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

/*
 * Avoid dirtying a hot cache line: store only on change. A quota has the incarnation beside it that
 * it was written for, so that the CAS of a process that slept while the row was given away fails.
 */
int
rl_rules_set_quota(const struct rl_segment *s, int limit, enum rl_bank bank,
                   struct rl_u128 identity, const struct rl_limit *complete)
{
	struct rl_u128 *word = &s->limits[limit].quota[bank], held, now, next;

	for (int tries = 0; tries < TRIES; tries++) {
		rl_atomic_load16(word, &held);
		now = rl_rules_identity(s, limit);
		if (!rl_identity_is(now, identity))
			return -EAGAIN;
		next = rl_rules_quota_after(held, now, complete);
		if (rl_u128_equal(held, next) || rl_atomic_cas16(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
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
	return rl_u128_equal(held, quota);
}

int
rl_rules_set_refs(const struct rl_segment *s, int rule, enum rl_bank bank,
                  const struct rl_refs *refs)
{
	struct rl_u128 *word = &s->rows[rl_rule_row(rule)].limits[bank];
	struct rl_u128 held, next = rl_refs_pack(refs);

	next.hi |= rl_rule_refs_tag(rule);
	for (int tries = 0; tries < TRIES; tries++) {
		rl_atomic_load16(word, &held);
		rl_atomic_fence(); /* first the list, then whose the row is */
		if (!rl_rules_has(s, rule))
			return -EAGAIN;
		if (rl_u128_equal(held, next) || rl_atomic_cas16(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

int
rl_rules_clear_refs(const struct rl_segment *s, int row, enum rl_bank bank)
{
	struct rl_u128 *word = &s->rows[row].limits[bank], held, none = {0};

	for (int tries = 0; tries < TRIES; tries++) {
		rl_atomic_load16(word, &held);
		if (rl_u128_equal(held, none) || rl_atomic_cas16(word, held, none))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
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

uint64_t
rl_rules_mix(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t ago)
{
	uint64_t incarnation = limit->identity >> RL_IDENTITY_INCARNATION_SHIFT;

	incarnation = (incarnation - ago) & RL_IDENTITY_INCARNATION_MASK;
	return rl_hash_with(s->key, (uint64_t)limit->id | incarnation << INCARNATION_SHIFT, "", 0)
	        .a;
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

	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t held = rl_atomic_load(&row->oldest),
			 ahead = incarnations_between(held, now);
		if (ahead == 0 || ahead > RL_IDENTITY_INCARNATION_MASK / 2 ||
		    rl_atomic_cas(&row->oldest, held, now))
			return;
	}
}

bool
rl_rules_compile(const struct rl_segment *s, int limit, struct rl_compiled *compiled)
{
	struct rl_u128 identity;

	if (limit < 0 || (uint32_t)limit >= s->geometry.limits ||
	    !rl_atomic_load16(&s->limits[limit].identity, &identity))
		return false;
	*compiled = (struct rl_compiled){
		.row = &s->limits[limit],
		.identity = identity.lo & ~RL_IDENTITY_MARKS,
		.id = limit,
		.rule = (int)(identity.lo >> RL_IDENTITY_RULE_SHIFT & RL_IDENTITY_RULE_MASK),
		.prefix_v4 = (uint8_t)(identity.lo >> RL_IDENTITY_V4_SHIFT & RL_IDENTITY_V4_MASK),
		.prefix_v6 = (uint8_t)(identity.lo >> RL_IDENTITY_V6_SHIFT & RL_IDENTITY_V6_MASK),
	};
	compiled->mix = rl_rules_mix(s, compiled, 0);
	compiled->owner = rl_tag_owner(limit, rl_identity_incarnation(identity));
	compiled->has_prefix = compiled->prefix_v4 > 0 || compiled->prefix_v6 > 0;
	if ((identity.lo & RL_IDENTITY_USED) == 0 ||
	    (uint32_t)compiled->rule >= s->geometry.rules || compiled->prefix_v4 > 32 ||
	    compiled->prefix_v6 > 128 ||
	    !rl_shape_unpack(identity, s->geometry.ring, &compiled->limiter))
		return false;
	if (identity.lo & RL_IDENTITY_CLUSTERED &&
	    (!s->geometry.clustered || !rl_shape_lend(&compiled->limiter)))
		return false;
	compiled->has_cells = rl_cell_limiter(&compiled->limiter, &compiled->cell);
	return true;
}
