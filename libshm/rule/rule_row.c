/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/rule_row.h"

#include <errno.h>
#include <string.h>

#define NAME_DOMAIN (UINT64_C(1) << 40) /* above any limit's id: see rl_rules_salt() */

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

	for (int tries = 0; tries < RL_RULES_TRIES; tries++) {
		uint64_t held = rl_atomic_load(word), next = is_set ? held | flags : held & ~flags;
		if (!rl_rule_has_flags(rule, held))
			return -EAGAIN;
		if (held == next || rl_atomic_cas(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}
