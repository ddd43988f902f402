/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/expiry.h"

#include <rl_admin.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/number.h"

static bool
read_utc(const char *text, time_t *seconds)
{
	static const char *const forms[] = {
		"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d %H:%M:%S",
		"%Y-%m-%d %H:%M",     "%Y-%m-%d",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = {0}, given;
		const char *rest = strptime(text, forms[i], &tm);

		if (!rest || *rest != '\0')
			continue;
		given = tm;
		*seconds = timegm(&tm); /* makes the 31st of April the 1st of May */
		return tm.tm_mday == given.tm_mday;
	}
	return false;
}

static bool
read_seconds(const char *text, time_t *seconds)
{
	uint64_t number;

	if (*text++ != '@' || !number_read(&text, &number) || *text != '\0' || number > INT64_MAX)
		return false;
	*seconds = (time_t)number;
	return true;
}

const char *
expiry_parse(const char *text, uint64_t *unix_ns)
{
	time_t seconds;

	if (strcmp(text, "never") == 0) {
		*unix_ns = RL_NEVER_NS;
		return NULL;
	}
	if (!read_seconds(text, &seconds) && !read_utc(text, &seconds))
		return "is no time: use " EXPIRY_FORMS;
	if (seconds < 0 || seconds >= (time_t)(INT64_MAX / RL_SECOND))
		return "is not between 1970 and 2262";
	*unix_ns = (uint64_t)seconds * RL_SECOND;
	return NULL;
}
