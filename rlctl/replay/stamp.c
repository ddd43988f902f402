/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/stamp.h"

#include <rl_admin.h>

#define DAY_SECONDS 86400
#define HOUR_SECONDS 3600
#define MONTHS 12
#define FRACTION_DIGITS 9 /* a nanosecond is the ninth decimal */
#define LEAP_YEARS_APART 8

struct cursor {
	const char *at, *end;
};

struct date {
	int64_t year, month, day, hour, minute, second; /* month from 0 */
	int64_t east_seconds;                           /* of Greenwich */
	bool is_local;
	uint64_t fraction_ns;
};

static bool
is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t
month_days(int64_t year, int64_t month)
{
	static const int64_t days[MONTHS] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month] + (month == 1 && is_leap(year));
}

/* Leap days before the first of January of `year`. */
static int64_t
leap_days(int64_t year)
{
	int64_t past = year - 1;

	return past / 4 - past / 100 + past / 400;
}

static int64_t
days_since_1970(const struct date *date)
{
	int64_t days = (date->year - 1970) * 365 + leap_days(date->year) - leap_days(1970);

	for (int64_t month = 0; month < date->month; month++)
		days += month_days(date->year, month);
	return days + date->day - 1;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly `count` digits. */
static bool
read_digits(struct cursor *c, int count, int64_t *value)
{
	*value = 0;
	for (; count > 0; count--, c->at++) {
		if (c->at == c->end || !is_digit(*c->at))
			return false;
		*value = *value * 10 + (*c->at - '0');
	}
	return true;
}

/* One of these. */
static bool
read_any(struct cursor *c, const char *chars)
{
	return c->at < c->end && *c->at != '\0' && strchr(chars, *c->at++);
}

static bool
is_next(const struct cursor *c, const char *chars)
{
	return c->at < c->end && *c->at != '\0' && strchr(chars, *c->at);
}

static bool
read_month(struct cursor *c, int64_t *month)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	if (c->end - c->at < 3)
		return false;
	for (*month = 0; *month < MONTHS; (*month)++) {
		if (memcmp(c->at, names + 3 * *month, 3) != 0)
			continue;
		c->at += 3;
		return true;
	}
	return false;
}

/* The digits behind the point. */
static bool
read_fraction(struct cursor *c, uint64_t *ns)
{
	const char *start = c->at;

	*ns = 0;
	for (; c->at < c->end && is_digit(*c->at); c->at++)
		if (c->at - start < FRACTION_DIGITS)
			*ns = *ns * 10 + (uint64_t)(*c->at - '0');
	for (long digits = c->at - start; digits < FRACTION_DIGITS; digits++)
		*ns *= 10;
	return c->at > start;
}

static bool
read_clock(struct cursor *c, struct date *date)
{
	if (!read_digits(c, 2, &date->hour) || !read_any(c, ":") ||
	    !read_digits(c, 2, &date->minute) || !read_any(c, ":") ||
	    !read_digits(c, 2, &date->second))
		return false;
	if (!is_next(c, ".,"))
		return true;
	c->at++;
	return read_fraction(c, &date->fraction_ns);
}

/* "+0100", "+01:00", and where `is_short` "+01". */
static bool
read_zone(struct cursor *c, bool is_short, int64_t *east_seconds)
{
	bool is_west = is_next(c, "-");
	int64_t hours, minutes = 0;

	if (!read_any(c, "+-") || !read_digits(c, 2, &hours))
		return false;
	if (is_short && c->at == c->end)
		return *east_seconds = (is_west ? -1 : 1) * hours * HOUR_SECONDS, true;
	if (is_next(c, ":"))
		c->at++;
	if (!read_digits(c, 2, &minutes) || minutes > 59)
		return false;
	*east_seconds = (hours * 60 + minutes) * (is_west ? -60 : 60);
	return true;
}

static bool
read_common(struct cursor *c, struct date *date)
{
	const char *clock;

	if (!read_digits(c, 2, &date->day) || !read_any(c, "/") || !read_month(c, &date->month) ||
	    !read_any(c, "/") || !read_digits(c, 4, &date->year) || !read_any(c, ":"))
		return false;
	clock = c->at;
	if (!read_clock(c, date))
		return false;
	date->is_local = c->at == c->end && c->at - clock > (long)strlen("10:00:00");
	return date->is_local || (read_any(c, " ") && read_zone(c, false, &date->east_seconds));
}

static bool
read_iso(struct cursor *c, struct date *date)
{
	if (!read_digits(c, 4, &date->year) || !read_any(c, "-") ||
	    !read_digits(c, 2, &date->month) || !read_any(c, "-") ||
	    !read_digits(c, 2, &date->day) || !read_any(c, "Tt \t") || !read_clock(c, date))
		return false;
	date->month--;
	if (is_next(c, " "))
		c->at++;
	if (c->at == c->end)
		return true;
	return is_next(c, "Zz") ? read_any(c, "Zz") : read_zone(c, true, &date->east_seconds);
}

/* "Nov 22 10:00:00", or "Nov  2 10:00:00". */
static bool
read_syslog(struct cursor *c, struct date *date)
{
	if (!read_month(c, &date->month) || !read_any(c, " "))
		return false;
	if (is_next(c, " ") ? (c->at++, !read_digits(c, 1, &date->day))
	                    : !read_digits(c, 2, &date->day))
		return false;
	date->is_local = true;
	return read_any(c, " ") && read_clock(c, date);
}

/* Second 60 is a leap second: it counts as the first of the next minute. */
static bool
is_date(const struct date *date)
{
	return date->month >= 0 && date->month < MONTHS && date->day >= 1 &&
	       date->day <= month_days(date->year, date->month) && date->hour <= 23 &&
	       date->minute <= 59 && date->second <= 60;
}

/* mktime() is slow: the offset of an hour is asked for once. */
static int64_t
local_seconds(struct stamps *stamps, const struct date *date)
{
	int64_t hour = days_since_1970(date) * 24 + date->hour;
	struct tm tm = {
		.tm_year = (int)date->year - 1900,
		.tm_mon = (int)date->month,
		.tm_mday = (int)date->day,
		.tm_hour = (int)date->hour,
		.tm_isdst = -1,
	};

	if (hour != stamps->hour || hour == 0) {
		stamps->hour = hour;
		stamps->hour_seconds = (int64_t)mktime(&tm);
	}
	return stamps->hour_seconds + date->minute * 60 + date->second;
}

static int64_t
seconds_of(struct stamps *stamps, const struct date *date)
{
	if (date->is_local)
		return local_seconds(stamps, date);
	return days_since_1970(date) * DAY_SECONDS + date->hour * HOUR_SECONDS + date->minute * 60 +
	       date->second - date->east_seconds;
}

/* The last year in which there was such a day, no more than a day from now. */
static void
choose_year(struct stamps *stamps, struct date *date)
{
	struct tm tm;

	if (stamps->now == 0)
		stamps->now = time(NULL);
	localtime_r(&stamps->now, &tm);
	date->year = tm.tm_year + 1900;
	for (int i = 0; i < LEAP_YEARS_APART; i++, date->year--)
		if (is_date(date) && seconds_of(stamps, date) <= stamps->now + DAY_SECONDS)
			return;
}

static bool
combine(uint64_t count, uint64_t unit_ns, uint64_t fraction_ns, uint64_t *ns)
{
	return !__builtin_mul_overflow(count, unit_ns, ns) &&
	       !__builtin_add_overflow(*ns, fraction_ns, ns) && *ns <= STAMP_MAX;
}

static uint64_t
unit_of(long digits)
{
	if (digits <= 10)
		return RL_SECOND;
	if (digits <= 13)
		return RL_MILLISECOND;
	return digits <= 16 ? RL_MILLISECOND / 1000 : 1;
}

static bool
read_number(struct cursor *c, uint64_t *ns)
{
	const char *start = c->at;
	uint64_t count = 0, fraction = 0, unit_ns;

	for (; c->at < c->end && is_digit(*c->at); c->at++)
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, (uint64_t)(*c->at - '0'), &count))
			return false;
	unit_ns = unit_of(c->at - start);
	if (is_next(c, ".")) {
		c->at++;
		if (!read_fraction(c, &fraction))
			return false;
	}
	return c->at == c->end && combine(count, unit_ns, fraction / (RL_SECOND / unit_ns), ns);
}

static bool
read_date(struct stamps *stamps, struct cursor *c, uint64_t *ns)
{
	bool is_syslog = c->at < c->end && !is_digit(*c->at);
	struct date date = {0};
	int64_t seconds;

	if (is_syslog         ? !read_syslog(c, &date)
	    : c->at[2] == '/' ? !read_common(c, &date)
	                      : !read_iso(c, &date))
		return false;
	if (is_syslog)
		choose_year(stamps, &date);
	if (c->at != c->end || !is_date(&date))
		return false;
	seconds = seconds_of(stamps, &date);
	return seconds >= 0 && combine((uint64_t)seconds, RL_SECOND, date.fraction_ns, ns);
}

bool
stamp_read(struct stamps *stamps, struct slice text, uint64_t *ns)
{
	struct cursor c;
	bool is_read;

	if (text.len == 0)
		return false;
	if (text.len == stamps->len && memcmp(text.at, stamps->text, text.len) == 0) {
		*ns = stamps->ns;
		return true;
	}
	c = (struct cursor){text.at, text.at + text.len};
	if (text.len > 4 && (!is_digit(*text.at) || text.at[2] == '/' || text.at[4] == '-'))
		is_read = read_date(stamps, &c, ns);
	else
		is_read = is_digit(*text.at) && read_number(&c, ns);
	if (is_read && text.len <= STAMP_KEPT) {
		memcpy(stamps->text, text.at, text.len);
		stamps->len = text.len;
		stamps->ns = *ns;
	}
	return is_read;
}
