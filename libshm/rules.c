/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules in the segment, without a lock: an append-only list. A row's identity, the keyed
 * hash of its name and its whole shape, fits one CAS16 from zero. A definer walks the rows
 * from the first: the same identity is the rule; an empty row is where it appends; whoever
 * loses that CAS looks at the same row again. As all append at the first empty row, no
 * identity can stand twice. What a killed definer may have left undone - the capacity, the
 * name for people - the next definer of the same rule completes; until then the rule is not
 * found by name, and nobody has its handle.
 */
#include "rules.h"

#include <errno.h>
#include <string.h>

#define NAME_DOMAIN (UINT64_C(1) << 40) /* above any rule id: see rl_hash_with() for keys */

static uint64_t
name_hash(const struct rl_segment *s, const char *name)
{
	return rl_hash_with(s->key, NAME_DOMAIN, name, strlen(name)).a | 1;
}

static bool
name_is_valid(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/";
	size_t len = name ? strlen(name) : 0;

	return len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len;
}

static bool
shape_is_valid(const struct rl_rule *r)
{
	if (r->window_ns < RL_WINDOW_MIN || r->window_ns > RL_WINDOW_MAX)
		return false;
	if (r->algorithm == RL_SLIDING_WINDOW)
		return r->granularity >= 1 && r->granularity <= RL_GRANULARITY_MAX;
	return (unsigned)r->algorithm <= RL_LEAKY_BUCKET && r->granularity == 1 && !r->hard;
}

static bool
quota_is_valid(const struct rl_rule *r)
{
	if (r->capacity == 0 || r->capacity > RL_CAPACITY_MAX || r->burst >= RL_CAPACITY_MAX)
		return false;
	if (r->algorithm == RL_TOKEN_BUCKET)
		return r->undelayed == 0;
	if (r->algorithm == RL_LEAKY_BUCKET)
		return r->undelayed <= r->burst;
	return r->burst == 0 && r->undelayed == 0;
}

/* How many ring entries its counters need. */
static uint32_t
entries_needed(const struct rl_rule *r)
{
	return r->algorithm == RL_SLIDING_LOG ? r->capacity : r->granularity;
}

static uint64_t
shape_pack(const struct rl_rule *r)
{
	return r->window_ns << RL_SHAPE_WINDOW_SHIFT |
	       (uint64_t)r->granularity << RL_SHAPE_GRANULARITY_SHIFT |
	       (uint64_t)r->algorithm << RL_SHAPE_ALGORITHM_SHIFT | (r->hard ? RL_SHAPE_HARD : 0);
}

static struct rl_rule
shape_unpack(uint64_t shape)
{
	return (struct rl_rule){
		.window_ns = shape >> RL_SHAPE_WINDOW_SHIFT,
		.granularity =
			(uint32_t)(shape >> RL_SHAPE_GRANULARITY_SHIFT & RL_SHAPE_GRANULARITY_MASK),
		.algorithm = (enum rl_algorithm)(shape >> RL_SHAPE_ALGORITHM_SHIFT &
	                                         RL_SHAPE_ALGORITHM_MASK),
		.hard = (shape & RL_SHAPE_HARD) != 0,
	};
}

/* Both halves were set by one CAS16, and never change after: seeing lo, hi is there. */
static struct rl_word16
row_identity(const struct rl_row *row)
{
	struct rl_word16 identity = {.lo = rl_atomic_load(&row->identity.lo)};

	identity.hi = rl_atomic_load(&row->identity.hi);
	return identity;
}

/* The place where `identity` stands, put there if need be; -ENOSPC. */
static int
append(const struct rl_segment *s, struct rl_word16 identity)
{
	for (uint32_t i = 0; i < s->geometry.rules; i++) {
		struct rl_word16 *row = &s->rows[i].identity;
		if (row_identity(&s->rows[i]).lo == 0)
			rl_atomic_cas16(row, (struct rl_word16){0}, identity);
		if (rl_word16_equal(row_identity(&s->rows[i]), identity))
			return (int)i;
	}
	return -ENOSPC;
}

/* Every definer writes the same bytes, so it does not matter who else does. */
static void
write_name(struct rl_row *row, const char *name)
{
	uint64_t words[RL_NAME_MAX / 8 + 1] = {0};

	memcpy(words, name, strlen(name));
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		rl_atomic_store_relaxed(&row->name[i], words[i]);
}

/* A line that every decision reads is written only if that changes it. */
static void
set(uint64_t *word, uint64_t value)
{
	if (rl_atomic_load(word) != value)
		rl_atomic_store(word, value);
}

void
rl_rules_name(const struct rl_segment *s, int id, char name[static RL_NAME_MAX + 1])
{
	const struct rl_row *row = &s->rows[id];
	uint64_t words[RL_NAME_MAX / 8 + 1];

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		words[i] = rl_atomic_load_relaxed(&row->name[i]);
	memcpy(name, words, RL_NAME_MAX);
	name[RL_NAME_MAX] = '\0';
	if (!name_is_valid(name) || name_hash(s, name) != row_identity(row).lo)
		name[0] = '\0';
}

int
rl_rules_define(const struct rl_segment *s, const struct rl_rule *rule)
{
	struct rl_rule r = *rule;
	struct rl_word16 identity;
	int id;

	if (r.granularity == 0)
		r.granularity = 1;
	if (r.algorithm == RL_TOKEN_BUCKET && r.burst == 0)
		r.burst = r.capacity < RL_CAPACITY_MAX ? r.capacity : RL_CAPACITY_MAX - 1;
	if (!name_is_valid(r.name) || !shape_is_valid(&r) || !quota_is_valid(&r))
		return -EINVAL;
	if (entries_needed(&r) > s->geometry.ring)
		return RL_ERING;
	if (!s->is_writable)
		return -EROFS;
	identity = (struct rl_word16){.lo = name_hash(s, r.name), .hi = shape_pack(&r)};
	id = append(s, identity);
	if (id < 0)
		return id;
	write_name(&s->rows[id], r.name);
	set(&s->rows[id].burst, r.burst);
	set(&s->rows[id].undelayed, r.undelayed);
	set(&s->rows[id].is_shadow, r.shadow != 0);
	set(&s->rows[id].capacity, r.capacity); /* last: a rule without one is not found */
	return id;
}

int
rl_rules_find(const struct rl_segment *s, const char *name)
{
	if (!name_is_valid(name))
		return -ENOENT;
	uint64_t hash = name_hash(s, name);
	for (int id = (int)s->geometry.rules - 1; id >= 0; id--) {
		const struct rl_row *row = &s->rows[id];
		if (row_identity(row).lo == hash && rl_atomic_load(&row->capacity) != 0)
			return id;
	}
	return -ENOENT;
}

bool
rl_rules_compile(const struct rl_segment *s, int id, struct rl_compiled *compiled)
{
	if (id < 0 || (uint32_t)id >= s->geometry.rules)
		return false;
	struct rl_word16 identity = row_identity(&s->rows[id]);
	struct rl_rule r = shape_unpack(identity.hi);
	if (identity.lo == 0 || !shape_is_valid(&r) || r.granularity > s->geometry.ring)
		return false;
	*compiled = (struct rl_compiled){.row = &s->rows[id]};
	compiled->limiter = (struct rl_limiter){
		.algorithm = r.algorithm,
		.window_ns = r.window_ns,
		.granularity = r.granularity,
		.ring_entries = s->geometry.ring,
		.window = rl_window_make(r.algorithm, r.window_ns, r.granularity, r.hard),
	};
	return true;
}
