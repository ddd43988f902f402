/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <apr_strings.h>
#include <rl_fields.h>
#include <stddef.h>
#include <stdlib.h>

#define GRANULARITY_DEFAULT 60 /* sub-buckets, as in rl.json(5) */
#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ms", RL_MILLISECOND}, {"s", RL_SECOND}, {"sec", RL_SECOND}, {"second", RL_SECOND},
	{"m", MINUTE},          {"min", MINUTE},  {"minute", MINUTE}, {"h", HOUR},
	{"hour", HOUR},         {"d", DAY},       {"day", DAY},
};

int
read_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 18 || text[digits] != '\0')
		return 0;
	*value = strtoull(text, NULL, 10);
	return *value >= least && *value <= most;
}

/* The length of the unit that the text begins with, up to the next digit or its end; 0: none. */
static uint64_t
read_unit(const char **text)
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].name) == len && strncmp(units[i].name, *text, len) == 0) {
			*text += len;
			return units[i].ns;
		}
	return 0;
}

int
read_duration(const char *text, uint64_t *ns)
{
	*ns = 0;
	do {
		size_t digits = strspn(text, "0123456789");
		uint64_t number, unit;

		if (digits == 0 || digits > 9)
			return 0;
		number = strtoull(text, NULL, 10);
		text += digits;
		unit = read_unit(&text);
		if (unit == 0 || number > RL_WINDOW_MAX / unit)
			return 0;
		*ns += number * unit;
	} while (*text != '\0' && *ns <= RL_WINDOW_MAX);
	return *ns > 0 && *text == '\0';
}

const char *
value_of(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

/* "5/min", "300/5min", "100/1h30m". */
static int
read_rate(const char *text, struct rl_limit *limit)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t capacity = digits && digits <= 18 ? strtoull(text, NULL, 10) : 0;
	const char *window = text + digits + 1;

	if (capacity == 0 || capacity > RL_CAPACITY_MAX || text[digits] != '/')
		return 0;
	limit->capacity = (uint32_t)capacity;
	if (read_duration(window, &limit->window_ns))
		return 1;
	limit->window_ns = read_unit(&window);
	return limit->window_ns > 0 && *window == '\0';
}

static int
read_granularity(const char *text, struct rl_limit *limit)
{
	uint64_t number, step_ns;

	if (read_number(text, 1, RL_GRANULARITY_MAX, &number)) {
		limit->granularity = (uint32_t)number;
		return 1;
	}
	if (!read_duration(text, &step_ns) || limit->window_ns % step_ns != 0 ||
	    limit->window_ns / step_ns > RL_GRANULARITY_MAX)
		return 0;
	limit->granularity = (uint32_t)(limit->window_ns / step_ns);
	return 1;
}

/* What is said of `hard` before the defaults are known. */
#define HARD_UNSAID (-1)

/* The rate that begins a limit says these. */
static int
is_of_rate(const struct rl_field *field)
{
	return field->offset == offsetof(struct rl_limit, capacity) ||
	       field->offset == offsetof(struct rl_limit, window_ns);
}

/* "on" and "off", or the field's own words, as rl.json's `mode` has them. */
static int
read_word(const struct rl_field *field, const char *text, uint64_t *n)
{
	if (field->words)
		return rl_field_number(field, text, strlen(text), n) == 0;
	*n = strcmp(text, "on") == 0;
	return *n || strcmp(text, "off") == 0;
}

/* 1: an option of a limit, and it is right; 0: its value is wrong; -1: it is none. */
static int
read_option(const char *word, struct rl_limit *limit)
{
	size_t len = strcspn(word, "=");
	const struct rl_field *field = rl_field_find(RL_OF_LIMIT, word, len);
	const char *v = word + len + 1;
	uint64_t n = 0;

	if (!field || word[len] == '\0' || value_of(word, field->word) != v ||
	    field->marks & RL_FIELD_NOT_IN_DIRECTIVES || is_of_rate(field))
		return -1;
	if (field->offset == offsetof(struct rl_limit, granularity))
		return read_granularity(v, limit);
	if (field->words || field->kind == RL_FIELD_FLAG
	            ? !read_word(field, v, &n)
	            : !read_number(v, field->least, field->most, &n))
		return 0;
	return rl_field_set(field, limit, n) == 0;
}

/* As many sub-buckets as rl.json's default has: a limit that moves there keeps its counters. */
static uint32_t
default_granularity(uint64_t window_ns)
{
	uint32_t ring = server_conf->options.ring, best = GRANULARITY_DEFAULT;
	uint64_t unit = window_ns >= MINUTE                ? RL_SECOND
	                : window_ns >= 60 * RL_MILLISECOND ? RL_MILLISECOND
	                                                   : RL_MILLISECOND / 1000;

	if (ring && ring < best)
		best = ring;
	for (uint32_t n = best; n > best / 2; n--)
		if (window_ns % (n * unit) == 0)
			return n;
	return best;
}

/* Sets what no word has said of a limit. */
static void
complete(struct rl_limit *limit)
{
	if (limit->algorithm == RL_SLIDING_WINDOW && limit->granularity == 0) {
		limit->granularity = default_granularity(limit->window_ns);
		limit->hard = limit->hard == HARD_UNSAID ? 1 : limit->hard;
	}
	if (limit->hard == HARD_UNSAID)
		limit->hard = 0;
}

/* Begins a limit if the word is one: 1, 0, or -1 for one that is wrong. */
static int
begin_limit(const char *word, struct rl_limit *limit)
{
	const char *held = value_of(word, "in_flight");
	uint64_t n;

	*limit = (struct rl_limit){.hard = HARD_UNSAID};
	if (held) {
		if (!read_number(held, 1, RL_IN_FLIGHT_MAX, &n))
			return -1;
		limit->algorithm = RL_IN_FLIGHT;
		limit->capacity = (uint32_t)n;
		return 1;
	}
	if (strspn(word, "0123456789") == 0)
		return 0;
	return read_rate(word, limit) ? 1 : -1;
}

static const char *
complain(apr_pool_t *pool, const char *what, const char *word, const char *hint)
{
	return apr_pstrcat(pool, what, " \"", word, "\"", hint, NULL);
}

const char *
read_limits(apr_pool_t *pool, struct rule *rule, int count, char *const words[])
{
	struct rl_limit limit, *now = NULL;

	rule->limit_count = 0;
	for (int i = 0; i < count; i++) {
		int begins = begin_limit(words[i], &limit);
		int is_right = begins == 0 && now ? read_option(words[i], now) : begins;

		if (begins < 0)
			return complain(pool, "no limit:", words[i],
			                "; 5/min, 20/s, 300/5min or in_flight=3 are some");
		if (begins == 0 && !now)
			return complain(pool, "a limit such as 5/min comes first, not", words[i],
			                "");
		if (is_right < 0)
			return complain(pool, "unknown word", words[i], "");
		if (is_right == 0)
			return complain(pool, "bad value in", words[i], "");
		if (begins > 0 && rule->limit_count == RL_LIMITS_MAX)
			return apr_psprintf(pool, "more than %d limits", RL_LIMITS_MAX);
		if (begins > 0) {
			now = &rule->limits[rule->limit_count++];
			*now = limit;
		}
	}
	return now ? NULL : "a limit is missing: 5/min, 20/s, in_flight=3, or the word configured";
}

void
complete_limits(struct rule *rule)
{
	for (size_t i = 0; i < rule->limit_count; i++)
		complete(&rule->limits[i]);
}
