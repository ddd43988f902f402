/* SPDX-License-Identifier: BSD-2-Clause */
#include "limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define GRANULARITY_DEFAULT 60

enum field_id {
	LIMIT,
	CAPACITY,
	WINDOW,
	WINDOW_NS,
	ALGORITHM,
	GRANULARITY,
	STEP,
	HARD,
	BURST,
	UNDELAYED,
	PREFETCH,
	COUNT_DENIED,
	MODE,
	SHADOW,
	PREFIX_V4,
	PREFIX_V6,
};

static const struct {
	const char *name;
	enum field_id id;
	const char *wanted;
} fields[] = {
	{"limit", LIMIT, "a rate such as \"100/min\" or \"5/10s\""},
	{"capacity", CAPACITY, "an integer from 1"},
	{"window", WINDOW, "a duration such as \"10m\", or seconds"},
	{"time_window_sec", WINDOW, "seconds"},
	{"window_ns", WINDOW_NS, "an integer of nanoseconds"},
	{"algorithm", ALGORITHM, "the name of an algorithm such as \"token_bucket\""},
	{"granularity", GRANULARITY, "a number of sub-buckets, or the length of one as a duration"},
	{"granularity_sec", STEP, "seconds that divide the window"},
	{"hard", HARD, "true or false"},
	{"burst", BURST, "an integer from 0"},
	{"undelayed", UNDELAYED, "an integer from 0"},
	{"prefetch", PREFETCH, "an integer from 0 to 4095"},
	{"count_denied", COUNT_DENIED, "true or false"},
	{"mode", MODE, "\"enforce\" or \"shadow\""},
	{"shadow", SHADOW, "true or false"},
	{"v4", PREFIX_V4, "an integer from 0 to 32"},
	{"prefix_v4", PREFIX_V4, "an integer from 0 to 32"},
	{"v6", PREFIX_V6, "an integer from 0 to 128"},
	{"prefix_v6", PREFIX_V6, "an integer from 0 to 128"},
};

#define FIELDS (sizeof fields / sizeof fields[0])

static int
is_word(const struct rlb_value *v, const char *word)
{
	return v->kind == RLB_WORDS && v->len == strlen(word) &&
	       memcmp(v->words, word, v->len) == 0;
}

static int
set_number(const struct rlb_value *v, uint64_t most, uint64_t *to)
{
	if (v->kind != RLB_INTEGER || v->integer < 0 || (uint64_t)v->integer > most)
		return -EINVAL;
	*to = (uint64_t)v->integer;
	return 0;
}

static int
set_flag(const struct rlb_value *v, int *to)
{
	if (v->kind != RLB_FLAG && !(v->kind == RLB_INTEGER && (v->integer & ~1) == 0))
		return -EINVAL;
	*to = (int)v->integer;
	return 0;
}

static int
set_duration(const struct rlb_value *v, uint64_t *to)
{
	if (v->kind == RLB_WORDS)
		return rlb_duration(v->words, v->len, to);
	if (v->kind == RLB_INTEGER && v->integer >= 0)
		return __builtin_mul_overflow((uint64_t)v->integer, RL_SECOND, to) ? -EINVAL : 0;
	return v->kind == RLB_REAL ? rlb_seconds(v->real, to) : -EINVAL;
}

int
rlb_algorithm(const char *name, size_t len, enum rl_algorithm *algorithm)
{
	for (int a = 0; a <= (int)RL_ALGORITHM_LAST; a++) {
		const struct rl_algorithm_info *info = rl_algorithm_info((enum rl_algorithm)a);

		if (info && strlen(info->name) == len && memcmp(info->name, name, len) == 0) {
			*algorithm = (enum rl_algorithm)a;
			return 0;
		}
	}
	return -EINVAL;
}

/* A limit's own number or length of sub-buckets is in place of its rule's. */
static int
set_steps(struct rlb_limit *l, enum field_id id, const struct rlb_value *v)
{
	uint64_t number = 0, step_ns = 0;
	int error = id == GRANULARITY && v->kind == RLB_INTEGER ? set_number(v, UINT32_MAX, &number)
	                                                        : set_duration(v, &step_ns);

	if (error < 0 || number + step_ns == 0)
		return -EINVAL;
	l->limit.granularity = (uint32_t)number;
	l->step_ns = step_ns;
	l->given |= 1U << GRANULARITY;
	return 0;
}

static int
set_mode(struct rlb_limit *l, const struct rlb_value *v)
{
	l->limit.shadow = is_word(v, "shadow");
	return l->limit.shadow || is_word(v, "enforce") ? 0 : -EINVAL;
}

/* Those that are numbers in rl_limit, of several sizes. */
static int
set_count(struct rl_limit *limit, enum field_id id, const struct rlb_value *v)
{
	uint64_t most = id == PREFIX_V4 || id == PREFIX_V6 ? UINT8_MAX
	                : id == PREFETCH                   ? UINT16_MAX
	                                                   : UINT32_MAX;
	uint64_t n;

	if (id == WINDOW_NS)
		return set_number(v, UINT64_MAX, &limit->window_ns);
	if (set_number(v, most, &n) < 0)
		return -EINVAL;
	switch (id) {
	case CAPACITY:
		limit->capacity = (uint32_t)n;
		break;
	case BURST:
		limit->burst = (uint32_t)n;
		break;
	case UNDELAYED:
		limit->undelayed = (uint32_t)n;
		break;
	case PREFETCH:
		limit->prefetch = (uint16_t)n;
		break;
	case PREFIX_V4:
		limit->prefix_v4 = (uint8_t)n;
		break;
	default:
		limit->prefix_v6 = (uint8_t)n;
		break;
	}
	return 0;
}

static int
set_field(struct rlb_limit *l, enum field_id id, const struct rlb_value *v)
{
	struct rl_limit *limit = &l->limit;

	switch (id) {
	case LIMIT:
		return v->kind == RLB_WORDS
		               ? rlb_rate(v->words, v->len, &limit->capacity, &limit->window_ns)
		               : -EINVAL;
	case WINDOW:
		return set_duration(v, &limit->window_ns);
	case ALGORITHM:
		return v->kind == RLB_WORDS ? rlb_algorithm(v->words, v->len, &limit->algorithm)
		                            : -EINVAL;
	case GRANULARITY:
	case STEP:
		return set_steps(l, id, v);
	case HARD:
		return set_flag(v, &limit->hard);
	case COUNT_DENIED:
		return set_flag(v, &limit->count_denied);
	case MODE:
		return set_mode(l, v);
	case SHADOW:
		return set_flag(v, &limit->shadow);
	default:
		return set_count(limit, id, v);
	}
}

int
rlb_limit_set(struct rlb_limit *l, const char *field, size_t field_len,
              const struct rlb_value *value, char text[RLB_TEXT_SIZE])
{
	for (size_t i = 0; i < FIELDS; i++) {
		if (strlen(fields[i].name) != field_len ||
		    memcmp(fields[i].name, field, field_len) != 0)
			continue;
		l->given |= 1U << fields[i].id;
		if (set_field(l, fields[i].id, value) == 0)
			return 0;
		snprintf(text, RLB_TEXT_SIZE, "%s: expected %s", fields[i].name, fields[i].wanted);
		return -EINVAL;
	}
	snprintf(text, RLB_TEXT_SIZE, "%.*s: a limit has no such field",
	         (int)(field_len < 64 ? field_len : 64), field);
	return -EINVAL;
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
static uint32_t
default_granularity(uint64_t window_ns, uint32_t ring)
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

	if (info && info->flags & RL_HAS_GRANULARITY && !(l->given & 1U << GRANULARITY)) {
		limit->granularity = default_granularity(limit->window_ns, ring);
		if (!(l->given & 1U << HARD))
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
