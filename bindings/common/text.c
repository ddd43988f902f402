/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <errno.h>
#include <math.h>
#include <rl.h>
#include <string.h>

#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define FRACTION_DIGITS 18 /* more than the nanoseconds of any unit have */

struct word {
	const char *name;
	uint64_t ns;
};

/* The longest first: that is the order in which a duration has them. */
static const struct word units[] = {
	{"d", DAY},   {"h", HOUR}, {"m", MINUTE}, {"s", RL_SECOND}, {"ms", RL_MILLISECOND},
	{"us", 1000}, {"ns", 1},   {NULL, 0},
};

static const struct word periods[] = {
	{"s", RL_SECOND}, {"sec", RL_SECOND}, {"second", RL_SECOND},
	{"m", MINUTE},    {"min", MINUTE},    {"minute", MINUTE},
	{"h", HOUR},      {"hour", HOUR},     {"d", DAY},
	{"day", DAY},     {NULL, 0},
};

/* The text that is left to read. */
struct rest {
	const char *at, *end;
};

static int
is_digit(const struct rest *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static int
read_number(struct rest *r, uint64_t *number)
{
	if (!is_digit(r))
		return -EINVAL;
	for (*number = 0; is_digit(r); r->at++)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*r->at - '0'), number))
			return -EINVAL;
	return 0;
}

static const struct word *
read_word(struct rest *r, const struct word *words)
{
	const char *start = r->at;
	size_t len;

	while (r->at < r->end && *r->at >= 'a' && *r->at <= 'z')
		r->at++;
	len = (size_t)(r->at - start);
	for (; words->name; words++)
		if (strlen(words->name) == len && memcmp(words->name, start, len) == 0)
			return words;
	return NULL;
}

/* The digits behind a point, as a part of 10^digits. */
static int
read_fraction(struct rest *r, uint64_t *part, uint64_t *whole)
{
	int digits = 0;

	*part = 0;
	*whole = 1;
	if (r->at == r->end || *r->at != '.')
		return 0;
	for (r->at++; is_digit(r); r->at++) {
		if (++digits > FRACTION_DIGITS)
			return -EINVAL;
		*part = *part * 10 + (uint64_t)(*r->at - '0');
		*whole *= 10;
	}
	return digits > 0 ? 0 : -EINVAL;
}

/* A number and its unit, added to *ns. Units come in the order of their table, each once. */
static int
read_part(struct rest *r, const struct word **last, uint64_t *ns)
{
	uint64_t number, part, whole, sum;
	const struct word *unit;
	unsigned __int128 fraction;

	if (read_number(r, &number) < 0 || read_fraction(r, &part, &whole) < 0)
		return -EINVAL;
	unit = read_word(r, units);
	if (!unit || (*last && unit <= *last))
		return -EINVAL;
	*last = unit;
	fraction = (unsigned __int128)part * unit->ns;
	if (fraction % whole != 0 || __builtin_mul_overflow(number, unit->ns, &sum) ||
	    __builtin_add_overflow(sum, (uint64_t)(fraction / whole), &sum) ||
	    __builtin_add_overflow(*ns, sum, ns))
		return -EINVAL;
	return 0;
}

int
rlb_duration(const char *text, size_t len, uint64_t *ns)
{
	struct rest r = {text, text + len};
	const struct word *last = NULL;

	*ns = RL_NEVER_NS;
	if (len == 5 && memcmp(text, "never", len) == 0)
		return 0;
	*ns = 0;
	do {
		if (read_part(&r, &last, ns) < 0)
			return -EINVAL;
	} while (r.at < r.end);
	return 0;
}

int
rlb_period(const char *text, size_t len, uint64_t *ns)
{
	struct rest r = {text, text + len};
	const struct word *period;
	uint64_t count = 1;

	if (is_digit(&r) && read_number(&r, &count) < 0)
		return -EINVAL;
	period = read_word(&r, periods);
	if (period && r.at == r.end)
		return __builtin_mul_overflow(count, period->ns, ns) ? -EINVAL : 0;
	return rlb_duration(text, len, ns);
}

int
rlb_rate(const char *text, size_t len, uint32_t *capacity, uint64_t *window_ns)
{
	struct rest r = {text, text + len};
	uint64_t number;

	if (read_number(&r, &number) < 0 || r.at == r.end || *r.at != '/')
		return -EINVAL;
	r.at++;
	if (number == 0 || number > RL_CAPACITY_MAX ||
	    rlb_period(r.at, (size_t)(r.end - r.at), window_ns) < 0 || *window_ns < RL_WINDOW_MIN ||
	    *window_ns > RL_WINDOW_MAX)
		return -EINVAL;
	*capacity = (uint32_t)number;
	return 0;
}

int
rlb_seconds(double seconds, uint64_t *ns)
{
	double wanted = seconds * (double)RL_SECOND;

	if (!(seconds >= 0))
		return -EINVAL;
	if (isinf(seconds)) {
		*ns = RL_NEVER_NS;
		return 0;
	}
	if (wanted >= 0x1p63)
		return -EINVAL;
	*ns = (uint64_t)(wanted + 0.5);
	return 0;
}
