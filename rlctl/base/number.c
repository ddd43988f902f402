/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>

#include "base/number.h"
#include "base/output.h"

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
