/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include <errno.h>
#include <string.h>

#define NAME_DOMAIN (UINT64_C(1) << 40) /* above any limit's id: see rl_request_places() */

#define TRIES 1000 /* to read what is being configured */

/* identity.lo of a limit row */
#define USED UINT64_C(1)
#define RULE_SHIFT 1
#define RULE_MASK 0x3ff
#define V4_SHIFT 17
#define V4_MASK 0x3f
#define V6_SHIFT 23
#define V6_MASK 0xff
#define TWIN_SHIFT 31

static uint64_t
name_hash(const struct rl_segment *s, const char *name)
{
	return rl_hash_with(s->key, NAME_DOMAIN, name, strlen(name)).a | 1;
}

bool
rl_rules_name_is_valid(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/";
	size_t len = name ? strlen(name) : 0;

	return len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len;
}

/* Every claimer writes the same bytes, so it does not matter who else does. */
static void
write_name(struct rl_row *row, const char *name)
{
	uint64_t words[RL_NAME_MAX / 8 + 1] = {0};

	memcpy(words, name, strlen(name));
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		rl_atomic_store_relaxed(&row->name[i], words[i]);
}

void
rl_rules_name(const struct rl_segment *s, int rule, char name[static RL_NAME_MAX + 1])
{
	const struct rl_row *row = &s->rows[rule];
	uint64_t words[RL_NAME_MAX / 8 + 1];

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		words[i] = rl_atomic_load_relaxed(&row->name[i]);
	memcpy(name, words, RL_NAME_MAX);
	name[RL_NAME_MAX] = '\0';
	if (!rl_rules_name_is_valid(name) || name_hash(s, name) != rl_atomic_load(&row->name_hash))
		name[0] = '\0';
}

int
rl_rules_append(const struct rl_segment *s, const char *name)
{
	uint64_t hash;

	if (!rl_rules_name_is_valid(name))
		return -EINVAL;
	hash = name_hash(s, name);
	for (uint32_t i = 0; i < s->geometry.rules; i++) {
		struct rl_row *row = &s->rows[i];
		if (rl_atomic_load(&row->name_hash) == 0)
			rl_atomic_cas(&row->name_hash, 0, hash);
		if (rl_atomic_load(&row->name_hash) == hash) {
			write_name(row, name);
			return (int)i;
		}
	}
	return -ENOSPC;
}

int
rl_rules_seek(const struct rl_segment *s, const char *name)
{
	uint64_t hash, held = 1;

	if (!rl_rules_name_is_valid(name))
		return -ENOENT;
	hash = name_hash(s, name);
	for (uint32_t i = 0; i < s->geometry.rules && held != 0; i++) {
		held = rl_atomic_load(&s->rows[i].name_hash);
		if (held == hash)
			return (int)i;
	}
	return -ENOENT;
}

uint32_t
rl_rules_used(const struct rl_segment *s)
{
	uint32_t i = 0;

	while (i < s->geometry.rules && rl_atomic_load(&s->rows[i].name_hash) != 0)
		i++;
	return i;
}

uint32_t
rl_rules_limits_used(const struct rl_segment *s)
{
	uint32_t i = 0;

	while (i < s->geometry.limits && rl_atomic_load(&s->limits[i].identity.lo) != 0)
		i++;
	return i;
}

struct rl_limit
rl_rules_limit(const struct rl_rule *rule, size_t i)
{
	return rl_shape_complete(i == 0 ? &rule->limit : &rule->more[i - 1]);
}

static bool
has_prefix(const struct rl_limit *l)
{
	return l->prefix_v4 > 0 || l->prefix_v6 > 0;
}

int
rl_rules_check(const struct rl_segment *s, const struct rl_rule *rule, size_t *limit)
{
	*limit = 0;
	if (!rl_rules_name_is_valid(rule->name) || rule->more_count >= RL_LIMITS_MAX ||
	    (!rule->more && rule->more_count > 0))
		return -EINVAL;
	for (; *limit <= rule->more_count; ++*limit) {
		struct rl_limit l = rl_rules_limit(rule, *limit);
		int error = rl_shape_check(&l, s->geometry.ring);
		if (error < 0)
			return error;
		if (has_prefix(&l) != has_prefix(&rule->limit))
			return -EINVAL;
	}
	return 0;
}

/* Both halves were set by one CAS16, and never change after: seeing lo, hi is there. */
static struct rl_word16
row_identity(const struct rl_limit_row *row)
{
	struct rl_word16 identity = {.lo = rl_atomic_load(&row->identity.lo)};

	identity.hi = rl_atomic_load(&row->identity.hi);
	return identity;
}

/* The row where `identity` stands, put there if need be and allowed; -1 or -ENOSPC. */
static int
limit_row(const struct rl_segment *s, struct rl_word16 identity, bool may_append)
{
	for (uint32_t i = 0; i < s->geometry.limits; i++) {
		struct rl_limit_row *row = &s->limits[i];
		struct rl_word16 held = row_identity(row);
		if (held.lo == 0 && !may_append)
			return -1;
		if (held.lo == 0)
			rl_atomic_cas16(&row->identity, (struct rl_word16){0}, identity);
		if (rl_word16_equal(row_identity(row), identity))
			return (int)i;
	}
	return may_append ? -ENOSPC : -1;
}

/* How many of the limits before the i-th have its shape and prefixes. */
static unsigned
twins_before(const struct rl_rule *rule, size_t i)
{
	struct rl_limit l = rl_rules_limit(rule, i);
	unsigned twins = 0;

	for (size_t j = 0; j < i; j++) {
		struct rl_limit other = rl_rules_limit(rule, j);
		twins += rl_shape_pack(&other) == rl_shape_pack(&l) &&
		         other.prefix_v4 == l.prefix_v4 && other.prefix_v6 == l.prefix_v6;
	}
	return twins;
}

static struct rl_word16
identity_of(int id, const struct rl_rule *rule, size_t i)
{
	struct rl_limit l = rl_rules_limit(rule, i);

	return (struct rl_word16){
		.lo = USED | (uint64_t)id << RULE_SHIFT | (uint64_t)l.prefix_v4 << V4_SHIFT |
	              (uint64_t)l.prefix_v6 << V6_SHIFT |
	              (uint64_t)twins_before(rule, i) << TWIN_SHIFT,
		.hi = rl_shape_pack(&l),
	};
}

int
rl_rules_limits(const struct rl_segment *s, int id, const struct rl_rule *rule, bool may_append,
                struct rl_refs *refs)
{
	*refs = (struct rl_refs){.count = (unsigned)rule->more_count + 1};
	for (unsigned i = 0; i < refs->count; i++) {
		refs->limit[i] = limit_row(s, identity_of(id, rule, i), may_append);
		if (refs->limit[i] == -ENOSPC)
			return -ENOSPC;
	}
	return 0;
}

struct rl_word16
rl_refs_pack(const struct rl_refs *refs)
{
	struct rl_word16 word = {0};

	for (unsigned i = 0; i < refs->count; i++) {
		uint64_t ref = (uint64_t)(refs->limit[i] + 1) << RL_REF_BITS * (i % 4);
		if (i < 4)
			word.lo |= ref;
		else
			word.hi |= ref;
	}
	return word;
}

static void
unpack_refs(const struct rl_segment *s, struct rl_word16 packed, struct rl_refs *refs)
{
	int limit;

	refs->count = 0;
	while ((limit = rl_refs_take(s, &packed)) >= 0)
		refs->limit[refs->count++] = limit;
}

void
rl_rules_refs(const struct rl_segment *s, int rule, enum rl_half half, struct rl_refs *refs)
{
	struct rl_word16 packed;

	rl_atomic_load16(&s->rows[rule].limits[half], &packed);
	unpack_refs(s, packed, refs);
}

enum rl_half
rl_rules_list(const struct rl_segment *s, int rule, uint64_t g, struct rl_refs *refs)
{
	struct rl_word16 packed;
	enum rl_half half = rl_rules_in_force(s, rule, g, &packed);

	unpack_refs(s, packed, refs);
	return half;
}

enum rl_half
rl_rules_now(const struct rl_segment *s, int rule, struct rl_refs *refs)
{
	enum rl_half half;
	uint64_t g, again = rl_atomic_load(&s->header->generation);
	int tries = 0;

	do {
		g = again;
		half = rl_rules_list(s, rule, g, refs);
		rl_atomic_fence(); /* as in rl_terms_load() */
		again = rl_atomic_load(&s->header->generation);
	} while (again != g && ++tries < TRIES);
	return half;
}

/* A line that every decision reads is written only if that changes it. 0 or -EBUSY. */
static int
set_word16(struct rl_word16 *word, struct rl_word16 value)
{
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_word16 held = {.lo = rl_atomic_load(&word->lo)};

		held.hi = rl_atomic_load(&word->hi);
		if (rl_word16_equal(held, value) || rl_atomic_cas16(word, held, value))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

int
rl_rules_set_quota(const struct rl_segment *s, int limit, enum rl_half half,
                   const struct rl_limit *complete)
{
	return set_word16(&s->limits[limit].quota[half], rl_quota_pack(complete));
}

int
rl_rules_set_refs(const struct rl_segment *s, int rule, enum rl_half half,
                  const struct rl_refs *refs)
{
	return set_word16(&s->rows[rule].limits[half], rl_refs_pack(refs));
}

int
rl_rules_of_limit(const struct rl_segment *s, int limit)
{
	uint64_t lo;
	int rule;

	if (limit < 0 || (uint32_t)limit >= s->geometry.limits)
		return -1;
	lo = rl_atomic_load_relaxed(&s->limits[limit].identity.lo);
	rule = (int)(lo >> RULE_SHIFT & RULE_MASK);
	return (lo & USED) && (uint32_t)rule < s->geometry.rules ? rule : -1;
}

bool
rl_rules_compile(const struct rl_segment *s, int limit, struct rl_compiled *compiled)
{
	struct rl_word16 identity;
	int rule = rl_rules_of_limit(s, limit);

	if (rule < 0)
		return false;
	identity = row_identity(&s->limits[limit]);
	*compiled = (struct rl_compiled){
		.row = &s->limits[limit],
		.hash = rl_hash_prefix(s->key, (uint64_t)limit),
		.id = limit,
		.rule = rule,
		.prefix_v4 = (uint8_t)(identity.lo >> V4_SHIFT & V4_MASK),
		.prefix_v6 = (uint8_t)(identity.lo >> V6_SHIFT & V6_MASK),
	};
	compiled->has_prefix = compiled->prefix_v4 > 0 || compiled->prefix_v6 > 0;
	return compiled->prefix_v4 <= 32 && compiled->prefix_v6 <= 128 &&
	       rl_shape_unpack(identity.hi, s->geometry.ring, &compiled->limiter);
}
