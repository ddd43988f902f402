/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "number.h"

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

static const struct unit *
find_unit(const char *name)
{
	for (size_t i = 0; i < UNITS; i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

const char *
duration_parse(const char *text, uint64_t *ns)
{
	const char *rest = text;
	const struct unit *unit;
	uint64_t number;

	if (*text == '\0')
		return "is empty";
	if (!number_read(&rest, &number))
		return rest == text ? "does not begin with a number" : "is too long";
	if (*rest == '\0')
		return "has no unit: ms, s, m, h or d";
	unit = find_unit(rest);
	if (!unit)
		return "has an unknown unit: use ms, s, m, h or d";
	if (__builtin_mul_overflow(number, unit->ns, ns))
		return "is too long";
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
