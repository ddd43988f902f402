/* SPDX-License-Identifier: BSD-2-Clause */

#include "text/digits.h"

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
