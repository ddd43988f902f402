/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/bytes.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct bytes_text
bytes_format(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	struct bytes_text out;
	uint64_t tenths = bytes * 10 / 1024;
	size_t unit = 0;

	if (bytes > UINT64_MAX / 10)
		tenths = UINT64_MAX / 1024;
	for (; tenths >= 10240 && unit < 3; unit++)
		tenths /= 1024;
	snprintf(out.text, sizeof(out.text), "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
	         units[unit]);
	return out;
}
