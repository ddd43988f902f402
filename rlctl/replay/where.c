/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/where.h"

#include <rl_admin.h>
#include <stdlib.h>

#include "base/output.h"
#include "text/digits.h"

#define NUMBER_MAX 32       /* bytes */
#define LIKE_BYTES_MAX 4096 /* of a value that a regular expression looks at */

static const struct sign {
	const char *text;
	enum where_test test;
} signs[] = {
	/* the longer ones first */
	{"!=", WHERE_NOT_EQUAL}, {"!~", WHERE_NOT_LIKE}, {"^=", WHERE_BEGINS},
	{"<=", WHERE_AT_MOST},   {">=", WHERE_AT_LEAST}, {"=", WHERE_EQUAL},
	{"~", WHERE_LIKE},       {"<", WHERE_LESS},      {">", WHERE_MORE},
	{" in ", WHERE_IN},
};

#define SIGNS (sizeof(signs) / sizeof(signs[0]))

/* The first sign in the text. */
static const struct sign *
find_sign(char *text, char **at)
{
	for (*at = text; **at; (*at)++)
		for (size_t i = 0; i < SIGNS; i++)
			if (strncmp(*at, signs[i].text, strlen(signs[i].text)) == 0)
				return &signs[i];
	return NULL;
}

static void
trim_end(char *text, char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	*end = '\0';
}

/* Digits, and perhaps a fraction. */
static bool
read_decimal(struct slice text, double *number)
{
	char copy[NUMBER_MAX + 1], *end;

	if (text.len == 0 || text.len > NUMBER_MAX)
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	if (copy[strspn(copy, "-.0123456789")] != '\0')
		return false;
	*number = strtod(copy, &end);
	return end == copy + text.len;
}

static const char *
read_value(struct where *where)
{
	const char *value = where->value;
	size_t len = strlen(value);

	switch (where->test) {
	case WHERE_LIKE:
	case WHERE_NOT_LIKE:
		if (regcomp(&where->regex, value, REG_EXTENDED | REG_NOSUB) != 0)
			return "has no regular expression behind its sign";
		return NULL;
	case WHERE_IN:
		where->network = rl_pattern_of(value, len);
		return where->network.match == RL_MATCH_NETWORK
		               ? NULL
		               : "has no network behind 'in', as 192.0.2.0/24";
	case WHERE_LESS:
	case WHERE_MORE:
	case WHERE_AT_MOST:
	case WHERE_AT_LEAST:
		return read_decimal((struct slice){value, len}, &where->number)
		               ? NULL
		               : "has no number behind its sign";
	default:
		return NULL;
	}
}

const char *
where_parse(const char *text, struct wants *wants, struct where *where)
{
	const struct sign *sign;
	char *at;

	*where = (struct where){.test = WHERE_EQUAL, .text = need(strdup(text))};
	sign = find_sign(where->text, &at);
	if (!sign)
		return "has none of = != ~ !~ ^= < <= > >= in";
	trim_end(where->text, at);
	if (*where->text == '\0')
		return "has no field in front of its sign";
	at += strlen(sign->text);
	where->value = at + strspn(at, " ");
	where->want = wants_add(wants, where->text);
	if (where->want == WANTS_MAX)
		return "is of one field too many";
	where->test = sign->test;
	at = (char *)read_value(where);
	if (at)
		where->test = WHERE_EQUAL; /* there is no regular expression to be freed */
	return at;
}

static bool
is_like(const struct where *where, struct slice value)
{
	regmatch_t range = {0, (regoff_t)(value.len < LIKE_BYTES_MAX ? value.len : LIKE_BYTES_MAX)};

	return regexec(&where->regex, value.at, 0, &range, REG_STARTEND) == 0;
}

static bool
compare(const struct where *where, struct slice value)
{
	double number;

	if (!read_decimal(value, &number))
		return false;
	switch (where->test) {
	case WHERE_LESS:
		return number < where->number;
	case WHERE_MORE:
		return number > where->number;
	case WHERE_AT_MOST:
		return number <= where->number;
	default:
		return number >= where->number;
	}
}

bool
where_holds(const struct where *where, const struct line_values *values)
{
	struct slice value = values->value[where->want];

	switch (where->test) {
	case WHERE_EQUAL:
		return slice_is(value, where->value);
	case WHERE_NOT_EQUAL:
		return !slice_is(value, where->value);
	case WHERE_BEGINS:
		return value.at && slice_begins(value, where->value);
	case WHERE_LIKE:
		return value.at && is_like(where, value);
	case WHERE_NOT_LIKE:
		return !value.at || !is_like(where, value);
	case WHERE_IN:
		return value.at && value.len > 0 &&
		       rl_pattern_matches(&where->network, value.at, value.len) == 1;
	default:
		return value.at && compare(where, value);
	}
}

void
where_free(struct where *where)
{
	if (where->test == WHERE_LIKE || where->test == WHERE_NOT_LIKE)
		regfree(&where->regex);
	free(where->text);
}
