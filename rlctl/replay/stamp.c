/* SPDX-License-Identifier: BSD-2-Clause */

#include <rl.h>
#include <string.h>

#include "replay/stamp.h"

#define DAY_SECONDS 86400
#define MONTHS 12

struct date {
	int64_t year, month, day, hour, minute, second; /* month from 0 */
	int64_t east_seconds;                           /* of Greenwich */
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

/* Exactly `count` digits. */
static bool
read_digits(const char **text, int count, int64_t *value)
{
	*value = 0;
	for (; count > 0; count--, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		*value = *value * 10 + (**text - '0');
	}
	return true;
}

static bool
read_char(const char **text, char c)
{
	return *(*text)++ == c;
}

static bool
read_month(const char **text, int64_t *month)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (*month = 0; *month < MONTHS; (*month)++) {
		if (strncmp(*text, names + 3 * *month, 3) != 0)
			continue;
		*text += 3;
		return true;
	}
	return false;
}

static bool
read_zone(const char **text, int64_t *east_seconds)
{
	char sign = *(*text)++;
	int64_t hours, minutes;

	if ((sign != '+' && sign != '-') || !read_digits(text, 2, &hours) ||
	    !read_digits(text, 2, &minutes) || minutes > 59)
		return false;
	*east_seconds = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
	return true;
}

static bool
read_date(const char **text, struct date *date)
{
	return read_digits(text, 2, &date->day) && read_char(text, '/') &&
	       read_month(text, &date->month) && read_char(text, '/') &&
	       read_digits(text, 4, &date->year) && read_char(text, ':') &&
	       read_digits(text, 2, &date->hour) && read_char(text, ':') &&
	       read_digits(text, 2, &date->minute) && read_char(text, ':') &&
	       read_digits(text, 2, &date->second) && read_char(text, ' ') &&
	       read_zone(text, &date->east_seconds) && read_char(text, ']');
}

/* Second 60 is a leap second: it counts as the first of the next minute. */
static bool
is_date(const struct date *date)
{
	return date->day >= 1 && date->day <= month_days(date->year, date->month) &&
	       date->hour <= 23 && date->minute <= 59 && date->second <= 60;
}

bool
stamp_parse(const char *text, uint64_t *ns)
{
	struct date date;
	int64_t seconds;

	if (!read_date(&text, &date) || !is_date(&date))
		return false;
	seconds = days_since_1970(&date) * DAY_SECONDS + date.hour * 3600 + date.minute * 60 +
	          date.second - date.east_seconds;
	if (seconds < 0 || seconds >= (int64_t)(INT64_MAX / RL_SECOND))
		return false;
	*ns = (uint64_t)seconds * RL_SECOND;
	return true;
}
