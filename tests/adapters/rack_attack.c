/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/rack_attack.h"

#include <errno.h>
#include <rl_admin.h>
#include <string.h>

/* A name that is too long is its beginning, for delete_matched(), and the digest of all of it. */
struct key {
	const char *bytes;
	size_t len;
	char cut[RL_PREFIX_MAX + RL_KEY_DIGEST_SIZE];
};

static const struct key *
key_of(struct key *k, const char *name)
{
	k->bytes = name;
	k->len = strlen(name);
	if (k->len > RL_KEY_MAX) {
		memcpy(k->cut, name, RL_PREFIX_MAX);
		k->len = RL_PREFIX_MAX + rl_key_digest(name, k->len, k->cut + RL_PREFIX_MAX);
		k->bytes = k->cut;
	}
	return k;
}

/* One step with the counter of that name, which lives for expires_in seconds; 0: without an end. */
static int
apply(const struct rack_attack *s, enum rl_counter_op op, const char *name, uint64_t amount,
      uint64_t expires_in, uint64_t now_ns, struct rl_count *count)
{
	struct key key;
	const struct key *k = key_of(&key, name);
	const struct rl_counter_item item = {
		.space = s->space,
		.key = k->bytes,
		.key_len = k->len,
		.amount = amount <= RL_COUNT_MAX ? (int64_t)amount : -1,
		.lifetime_ns = expires_in > 0 ? expires_in * RL_SECOND : RL_NEVER_NS,
		.now_ns = now_ns};

	return rl_counter_apply(s->rl, op, &item, count);
}

int
rack_attack_open(struct rack_attack *s, struct rl *rl)
{
	*s = (struct rack_attack){rl, rl_define_counters(rl, "rack-attack")};
	return s->space < 0 ? s->space : 0;
}

int64_t
rack_attack_increment(const struct rack_attack *s, const char *name, uint32_t amount,
                      uint64_t expires_in, uint64_t now_ns)
{
	struct rl_count count;
	int done = apply(s, RL_COUNTER_ADD, name, amount, expires_in, now_ns, &count);

	return done < 0 ? done : (int64_t)count.value;
}

int
rack_attack_read(const struct rack_attack *s, const char *name, uint64_t now_ns, uint64_t *value)
{
	struct rl_count count = {0};
	int is_there = apply(s, RL_COUNTER_GET, name, 0, 0, now_ns, &count);

	*value = count.value;
	return is_there;
}

int
rack_attack_write(const struct rack_attack *s, const char *name, uint64_t value,
                  uint64_t expires_in, uint64_t now_ns)
{
	return apply(s, RL_COUNTER_SET, name, value, expires_in, now_ns, NULL);
}

int
rack_attack_write_new(const struct rack_attack *s, const char *name, uint64_t value,
                      uint64_t expires_in, uint64_t now_ns)
{
	return apply(s, RL_COUNTER_SET_NEW, name, value, expires_in, now_ns, NULL);
}

int
rack_attack_delete(const struct rack_attack *s, const char *name, uint64_t now_ns)
{
	return apply(s, RL_COUNTER_DROP, name, 0, 0, now_ns, NULL);
}

int64_t
rack_attack_delete_matched(const struct rack_attack *s, const char *prefix)
{
	struct rl_pattern pattern = {RL_MATCH_PREFIX, prefix, strlen(prefix)};
	struct rl_reset_counts counts;
	int error = rl_reset_matching(s->rl, s->space, &pattern, &counts);

	if (error == 0 && counts.unknown > 0)
		error = -ENAMETOOLONG;
	return error < 0 ? error : (int64_t)counts.forgotten;
}
