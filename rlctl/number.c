/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>

#include "number.h"
#include "output.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
number_read(const char **text, uint64_t *value)
{
	uint64_t sum = 0;

	if (!is_digit(**text))
		return false;
	for (; is_digit(**text); (*text)++)
		if (__builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(**text - '0'), &sum))
			return false;
	*value = sum;
	return true;
}

bool
number_need(const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	const char *end = text;

	if (number_read(&end, value) && *end == '\0' && *value >= least && *value <= most)
		return true;
	complain("%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64, what, text, least,
	         most);
	return false;
}
