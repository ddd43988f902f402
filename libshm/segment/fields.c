/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of public structures, from their lists. */
#include "rl_admin.h"
#include "rl_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const words_algorithm[] = {
#define ALGORITHM(number, row, name, ...) [number] = name,
#define UNNAMED(number, row)
#include "algorithm/rl_algorithms.def"
#undef UNNAMED
#undef ALGORITHM
	NULL,
};
static const char *const words_mode[] = {"enforce", "shadow", NULL};
static const char *const words_counts[] = {
	[RL_COUNTS_COST] = "cost", [RL_COUNTS_REQUESTS] = "requests", NULL};
static const char *const words_scope[] = {
	[RL_SCOPE_HOST] = "host", [RL_SCOPE_CLUSTER] = "cluster", NULL};
static const char *const words_away[] = {[RL_AWAY_LOCAL_SHARE] = "local_share",
                                         [RL_AWAY_KEEP] = "keep",
                                         [RL_AWAY_OPEN] = "open",
                                         [RL_AWAY_CLOSED] = "closed",
                                         NULL};
static const char *const words_on_full[] = {
	[RL_FULL_RESERVE] = "reserve", [RL_FULL_DENY] = "deny", [RL_FULL_ALLOW] = "allow", NULL};
static const char *const words_verdict[] = {[RL_ALLOWED] = "allowed",
                                            [RL_DENIED] = "denied",
                                            [RL_NEVER] = "never",
                                            [RL_UNDECIDED] = "undecided",
                                            NULL};
static const char *const words_reason[] = {
	[RL_BY_LIMIT] = "limit",     [RL_BY_BAN] = "ban",     [RL_BY_EXEMPTION] = "exemption",
	[RL_BY_RESERVE] = "reserve", [RL_BY_SHARE] = "share", NULL};
#define words_none NULL
#define FORMER_none NULL
#define FORMER_on_full "evict"

/* Each word has its number, each number up to `most` its place, and the end a NULL. */
#define HAS_WORDS(list, last) \
	_Static_assert(sizeof words_##list / sizeof words_##list[0] == (last) + 2, #list)
HAS_WORDS(algorithm, RL_ALGORITHM_LAST);
HAS_WORDS(mode, 1);
HAS_WORDS(counts, RL_COUNTS_REQUESTS);
HAS_WORDS(scope, RL_SCOPE_CLUSTER);
HAS_WORDS(away, RL_AWAY_CLOSED);
HAS_WORDS(on_full, RL_FULL_ALLOW);
HAS_WORDS(verdict, RL_UNDECIDED);
HAS_WORDS(reason, RL_BY_SHARE);

#define AT(structure, member)                                                          \
	.size = sizeof(struct rl_field), .offset = offsetof(struct structure, member), \
	.bytes = sizeof(((struct structure *)0)->member)

static const struct rl_field limit_fields[] = {
#define RL_LIMIT_FIELD(n, w, k, l, m, u, ne, ws, z, ma, y, t)                       \
	{AT(rl_limit, n), .name = #n, .word = w, .kind = RL_FIELD_##k, .marks = ma, \
	 .needs = ne,     .least = l, .most = m, .words = words_##ws,  .unit = u,   \
	 .zero = z,       .why = y,   .text = t},
#include "rl_limit_fields.def"
#undef RL_LIMIT_FIELD
};

static const struct rl_field option_fields[] = {
#define RL_OPTION_FIELD(n, w, k, l, m, u, us, no, ws, ma, y, t) \
	{AT(rl_options, n),                                     \
	 .name = #n,                                            \
	 .word = w,                                             \
	 .kind = RL_FIELD_##k,                                  \
	 .marks = ma,                                           \
	 .least = l,                                            \
	 .most = m,                                             \
	 .usual = us,                                           \
	 .none = no,                                            \
	 .words = words_##ws,                                   \
	 .unit = u,                                             \
	 .zero = "the default",                                 \
	 .why = y,                                              \
	 .text = t,                                             \
	 .former = FORMER_##ws},
#include "rl_option_fields.def"
#undef RL_OPTION_FIELD
};

#define LAST_none UINT64_MAX
#define LAST_verdict RL_UNDECIDED
#define LAST_reason RL_BY_SHARE

static const struct rl_field result_fields[] = {
#define RL_RESULT_FIELD(n, k, u, ws, t)           \
	{AT(rl_result, n),  .name = #n,           \
	 .word = #n,        .kind = RL_FIELD_##k, \
	 .most = LAST_##ws, .words = words_##ws,  \
	 .unit = u,         .zero = "",           \
	 .why = "",         .text = t},
#include "rl_result_fields.def"
#undef RL_RESULT_FIELD
};

static const struct {
	const struct rl_field *fields;
	size_t count;
} structures[] = {
	[RL_OF_LIMIT] = {limit_fields, sizeof limit_fields / sizeof limit_fields[0]},
	[RL_OF_OPTIONS] = {option_fields, sizeof option_fields / sizeof option_fields[0]},
	[RL_OF_RESULT] = {result_fields, sizeof result_fields / sizeof result_fields[0]},
};

const struct rl_field *
rl_field(enum rl_structure of, size_t i)
{
	if ((unsigned)of >= sizeof structures / sizeof structures[0] || i >= structures[of].count)
		return NULL;
	return &structures[of].fields[i];
}

static bool
is_text(const char *text, const char *bytes, size_t len)
{
	return strlen(text) == len && memcmp(text, bytes, len) == 0;
}

const struct rl_field *
rl_field_find(enum rl_structure of, const char *name, size_t len)
{
	const struct rl_field *field;

	for (size_t i = 0; (field = rl_field(of, i)); i++)
		if (is_text(field->name, name, len) || is_text(field->word, name, len))
			return field;
	return NULL;
}

uint64_t
rl_field_get(const struct rl_field *field, const void *from)
{
	const char *at = (const char *)from + field->offset;
	uint64_t value = 0;

	if (field->kind == RL_FIELD_ERROR)
		return (uint64_t)(int64_t) * (const int *)(const void *)at;
	memcpy(&value, at, field->bytes); /* little-endian, as all that rl runs on */
	return field->kind == RL_FIELD_FLAG ? value != 0 : value;
}

int
rl_field_set(const struct rl_field *field, void *to, uint64_t value)
{
	if (field->kind == RL_FIELD_FLAG)
		value = value != 0;
	if (field->kind != RL_FIELD_ERROR && field->bytes < 8 && value >> 8 * field->bytes != 0)
		return -EINVAL;
	memcpy((char *)to + field->offset, &value, field->bytes);
	return 0;
}

int
rl_field_number(const struct rl_field *field, const char *word, size_t len, uint64_t *number)
{
	for (uint64_t i = 0; field->words && i <= field->most; i++) {
		if (!field->words[i] || !is_text(field->words[i], word, len))
			continue;
		*number = i;
		return 0;
	}
	if (!field->former || !is_text(field->former, word, len))
		return -EINVAL;
	*number = field->usual;
	return 1;
}
