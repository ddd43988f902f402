/* SPDX-License-Identifier: BSD-2-Clause */
#include "limit.h"

#include <rl_admin.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define GRANULARITY_DEFAULT 60
#define NAME_SIZE 64

/* A bit for each member. */
static uint64_t
bit_of(size_t offset)
{
	const struct rl_field *field;
	size_t i = 0;

	while ((field = rl_field(RL_OF_LIMIT, i)) && field->offset != offset)
		i++;
	return UINT64_C(1) << i;
}
#define BIT(member) bit_of(offsetof(struct rl_limit, member))
#define BIT_RATE (UINT64_C(1) << 63)

/* Capacity and window at once. */
static int
set_rate(struct rlb_limit *l, const struct rlb_value *v, char text[RLB_TEXT_SIZE])
{
	l->given |= BIT_RATE;
	if (v->kind == RLB_WORDS &&
	    rlb_rate(v->words, v->len, &l->limit.capacity, &l->limit.window_ns) == 0)
		return 0;
	snprintf(
		text, RLB_TEXT_SIZE,
		"limit: expected a rate such as \"100/min\" or \"5/10s\", from 1 to %u per 10ms to "
		"400d",
		RL_CAPACITY_MAX);
	return -EINVAL;
}

/* A limit's own number or length of sub-buckets is in place of its rule's. */
static int
set_steps(struct rlb_limit *l, const struct rlb_value *v, char text[RLB_TEXT_SIZE])
{
	uint64_t number = 0, step_ns = 0;
	int error;

	if (v->kind == RLB_INTEGER) {
		number = (uint64_t)v->integer;
		error = number > UINT32_MAX ? -EINVAL : 0;
	} else {
		error = rlb_value_ns(v, &step_ns);
	}
	if (error < 0 || (v->kind != RLB_INTEGER && step_ns == 0)) {
		snprintf(text, RLB_TEXT_SIZE,
		         "granularity: expected a number of sub-buckets, or the length of one as a "
		         "duration");
		return -EINVAL;
	}
	l->limit.granularity = (uint32_t)number;
	l->step_ns = step_ns;
	return 0;
}

int
rlb_limit_set(struct rlb_limit *l, const char *name, size_t len, const struct rlb_value *value,
              char text[RLB_TEXT_SIZE])
{
	const struct rl_field *field = rl_field_find(RL_OF_LIMIT, name, len);
	char word[NAME_SIZE];

	snprintf(word, sizeof word, "%.*s", (int)(len < NAME_SIZE ? len : NAME_SIZE - 1), name);
	if (strcmp(word, "limit") == 0)
		return set_rate(l, value, text);
	if (!field) {
		snprintf(text, RLB_TEXT_SIZE, "%s: a limit has no such field", word);
		return -EINVAL;
	}
	l->given |= bit_of(field->offset);
	if (field->offset == offsetof(struct rl_limit, granularity))
		return set_steps(l, value, text);
	return rlb_field_set(field, word, &l->limit, value, text);
}

/* Lengths of a sub-bucket that people would choose are whole multiples of it. */
static uint64_t
unit_of(uint64_t window_ns)
{
	if (window_ns >= 60 * RL_SECOND)
		return RL_SECOND;
	return window_ns >= 60 * RL_MILLISECOND ? RL_MILLISECOND : RL_MILLISECOND / 1000;
}

/*
 * 60, or as many of 59 to 31 as make a sub-bucket a whole number of such units; of a shorter ring
 * as many as it has. Where it has 1, for nobody has asked for more, it is no window of one that is
 * defined: the definition is refused, and says why.
 */
uint32_t
rlb_granularity(uint64_t window_ns, uint32_t ring)
{
	uint32_t best = ring > 1 && ring < GRANULARITY_DEFAULT ? ring : GRANULARITY_DEFAULT;

	for (uint32_t n = best; n > best / 2; n--)
		if (window_ns % (n * unit_of(window_ns)) == 0)
			return n;
	return best;
}

int
rlb_limit_finish(struct rlb_limit *l, uint32_t ring, char text[RLB_TEXT_SIZE])
{
	struct rl_limit *limit = &l->limit;
	const struct rl_algorithm_info *info = rl_algorithm_info(limit->algorithm);

	if (l->given & BIT_RATE && l->given & (BIT(capacity) | BIT(window_ns))) {
		snprintf(text, RLB_TEXT_SIZE,
		         "limit: it says capacity and window; give the one or the others");
		return -EINVAL;
	}
	if (info && info->flags & RL_HAS_GRANULARITY && !(l->given & BIT(granularity))) {
		limit->granularity = rlb_granularity(limit->window_ns, ring);
		if (!(l->given & BIT(hard)))
			limit->hard = 1;
	}
	if (l->step_ns == 0)
		return 0;
	if (limit->window_ns % l->step_ns != 0 ||
	    limit->window_ns / l->step_ns > RL_GRANULARITY_MAX) {
		snprintf(text, RLB_TEXT_SIZE,
		         "granularity: its length divides the window into 1 to %d sub-buckets",
		         RL_GRANULARITY_MAX);
		return -EINVAL;
	}
	limit->granularity = (uint32_t)(limit->window_ns / l->step_ns);
	return 0;
}
