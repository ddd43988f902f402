/* SPDX-License-Identifier: BSD-2-Clause */
#include "restore/restore.h"

#include <errno.h>

#include "model/limit.h"
#include "text/names.h"

#define BUSY_TRIES 100

/* A file may say 0 or 1 of a window that has no parts. */
static struct rl_limit
normal(const struct rl_limit *limit)
{
	struct rl_limit normal = *limit;

	normal.granularity += normal.granularity == 0;
	return normal;
}

static bool
has_shape(const struct rl_limit *limit, const struct rl_limit *shape)
{
	struct rl_limit a = normal(limit), b = normal(shape);

	return !limit_difference(&a, &b, RL_FIELD_SHAPE);
}

int
restore_find_limit(const struct rl_rule_info *rule, unsigned index, const struct rl_limit *shape)
{
	if (index < rule->limit_count && has_shape(&rule->limits[index], shape))
		return (int)index;
	for (unsigned i = 0; i < rule->limit_count; i++)
		if (has_shape(&rule->limits[i], shape))
			return (int)i;
	return -1;
}

uint64_t
restore_bucket_ns(const struct rl_limit *limit)
{
	return limit->window_ns / normal(limit).granularity;
}

uint64_t
restore_end_ns(const struct rl_limit *limit, const struct rl_charge_entry *entry)
{
	unsigned flags = algorithm_info(limit->algorithm)->flags;
	uint64_t span_ns = limit->window_ns;

	if (flags & RL_HAS_GRANULARITY)
		span_ns += restore_bucket_ns(limit);
	else if (flags & RL_IS_BUCKET)
		span_ns = (uint64_t)((unsigned __int128)entry->cost * limit->window_ns /
		                     (limit->capacity ? limit->capacity : 1));
	return entry->at_ns > UINT64_MAX - span_ns ? UINT64_MAX : entry->at_ns + span_ns;
}

int
restore_charge(struct rl *rl, int rule, unsigned limit, const struct restore_key *key,
               const struct rl_charge_entry *entry, uint64_t now_ns)
{
	uint64_t at_ns = entry->at_ns < now_ns ? entry->at_ns : now_ns;
	int error = -EBUSY;

	for (int i = 0; i < BUSY_TRIES && error == -EBUSY; i++)
		error = rl_restore_at(rl, rule, limit, key->bytes, key->len, entry->cost, at_ns);
	return error;
}

int
restore_count(struct rl *rl, const char *space, const struct restore_key *key, uint64_t value,
              uint64_t lifetime_ns, uint64_t now_ns)
{
	struct rl_counter_item item = {
		.space = rl_define_counters(rl, space),
		.key = key->bytes,
		.key_len = key->len,
		.amount = (int64_t)value,
		.lifetime_ns = lifetime_ns,
		.now_ns = now_ns,
	};
	int done = -EBUSY;

	if (item.space < 0)
		return item.space;
	for (int i = 0; i < BUSY_TRIES && done == -EBUSY; i++)
		done = rl_counter_apply(rl, value > 0 ? RL_COUNTER_ADD : RL_COUNTER_SET_NEW, &item,
		                        NULL);
	return done;
}
