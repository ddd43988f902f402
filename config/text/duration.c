/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "text/digits.h"
#include "text/duration.h"

#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define EXACT_MAX 1000 /* a longer number is easier to read in two units */

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{"d", DAY},
	{"h", HOUR},
	{"m", MINUTE},
	{"s", RL_SECOND},
	{"ms", RL_MILLISECOND},
	{"us", RL_MILLISECOND / 1000},
	{"ns", 1},
};

#define UNITS (sizeof(units) / sizeof(units[0]))
#define FRACTION_DIGITS 18 /* more than the nanoseconds of any unit have */

/* The unit that stands at *text, moving *text behind it. */
static const struct unit *
read_unit(const char **text)
{
	size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < UNITS; i++) {
		if (strlen(units[i].name) != len || strncmp(units[i].name, *text, len) != 0)
			continue;
		*text += len;
		return &units[i];
	}
	return NULL;
}

/* The worth of the digits behind a point, of a unit; false if no whole nanoseconds. */
static bool
fraction_of(const char *digits, size_t len, uint64_t unit_ns, uint64_t *ns)
{
	unsigned __int128 part = unit_ns, scale = 1;
	uint64_t number = 0;

	if (len == 0 || len > FRACTION_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++, scale *= 10)
		number = number * 10 + (uint64_t)(digits[i] - '0');
	part *= number;
	*ns = (uint64_t)(part / scale);
	return part % scale == 0;
}

/* A number and its unit, as "1.5h"; added to *ns. */
static const char *
read_part(const char **text, const struct unit **unit, uint64_t *ns)
{
	const char *start = *text, *digits;
	uint64_t number, part, fraction = 0;
	size_t len = 0;

	if (!number_read(text, &number))
		return *text == start ? "does not begin with a number" : "is too long";
	digits = *text + 1;
	if (**text == '.') {
		len = strspn(digits, "0123456789");
		*text = digits + len;
	}
	if (**text == '\0')
		return "has no unit: ms, s, m, h or d";
	*unit = read_unit(text);
	if (!*unit)
		return "has an unknown unit: use ms, s, m, h or d";
	if (digits[-1] == '.' && !fraction_of(digits, len, (*unit)->ns, &fraction))
		return "is no whole number of nanoseconds";
	if (__builtin_mul_overflow(number, (*unit)->ns, &part) ||
	    __builtin_add_overflow(part, fraction, &part) || __builtin_add_overflow(*ns, part, ns))
		return "is too long";
	return NULL;
}

const char *
duration_parse(const char *text, uint64_t *ns)
{
	const struct unit *last = NULL;

	if (*text == '\0')
		return "is empty";
	*ns = 0;
	while (*text) {
		const struct unit *unit = NULL;
		const char *wrong = read_part(&text, &unit, ns);

		if (wrong)
			return wrong;
		if (last && unit <= last)
			return "has its units out of order: use d, h, m, s, ms";
		last = unit;
	}
	return NULL;
}

static struct duration_text
format_one(uint64_t number, const char *unit)
{
	struct duration_text out;

	snprintf(out.text, sizeof(out.text), "%" PRIu64 "%s", number, unit);
	return out;
}

static uint64_t
round_up(uint64_t ns, uint64_t step)
{
	uint64_t part = ns % step;

	return part == 0 || ns > UINT64_MAX - step ? ns - part : ns - part + step;
}

/* Two neighbouring units; below a minute, seconds with one decimal, or milliseconds. */
static struct duration_text
format_two(uint64_t ns)
{
	struct duration_text out;

	if (ns < RL_SECOND)
		return format_one(round_up(ns, RL_MILLISECOND) / RL_MILLISECOND, "ms");
	if (ns < MINUTE) {
		ns = round_up(ns, RL_SECOND / 10);
		snprintf(out.text, sizeof(out.text), "%" PRIu64 ".%" PRIu64 "s", ns / RL_SECOND,
		         ns % RL_SECOND / (RL_SECOND / 10));
		return out;
	}
	for (size_t i = 0;; i++) {
		const struct unit *big = &units[i], *small = &units[i + 1];

		if (ns < big->ns)
			continue;
		ns = round_up(ns, small->ns);
		if (i > 0 && ns >= units[i - 1].ns)
			return format_two(ns);
		snprintf(out.text, sizeof(out.text), "%" PRIu64 "%s%02" PRIu64 "%s", ns / big->ns,
		         big->name, ns % big->ns / small->ns, small->name);
		return out;
	}
}

struct duration_text
duration_format(uint64_t ns)
{
	if (ns == RL_NEVER_NS)
		return (struct duration_text){"never"};
	if (ns == 0)
		return (struct duration_text){"0s"};
	for (size_t i = 0; i < UNITS; i++)
		if (ns % units[i].ns == 0 && ns / units[i].ns < EXACT_MAX)
			return format_one(ns / units[i].ns, units[i].name);
	return format_two(ns);
}

struct duration_text
duration_exact(uint64_t ns)
{
	for (size_t i = 0;; i++)
		if (ns % units[i].ns == 0 && (ns > 0 || units[i].ns == RL_SECOND))
			return format_one(ns / units[i].ns, units[i].name);
}
