/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/huge_pages.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

/* Where a mapping lies, if the line of /proc/self/maps or smaps begins that of the segment. */
static bool
is_mapping(const char *line, const char *name, uintptr_t *from, uintptr_t *to)
{
	char end[sizeof("/rl.\n") + RL_NAME_MAX];
	size_t len = strlen(line);
	int end_len = snprintf(end, sizeof(end), "/rl.%s\n", name);

	return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", from, to) == 2 && end_len > 0 &&
	       len > (size_t)end_len && strcmp(line + len - (size_t)end_len, end) == 0;
}

/*
 * A page table has only what was looked at: to look at a byte of a huge page maps all of it. The
 * rest of a mapping that no huge page fits into may lie behind the end of the file.
 */
static void
look_at(uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = (from + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; at + HUGE_PAGE <= to;
	     at += HUGE_PAGE)
		(void)*(const volatile unsigned char *)at;
}

static bool
look_at_segment(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t from, to;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (is_mapping(line, name, &from, &to))
			look_at(from, to);
	return maps && fclose(maps) == 0;
}

bool
huge_pages_read(const char *name, uint64_t *bytes)
{
	FILE *smaps = look_at_segment(name) ? fopen("/proc/self/smaps", "re") : NULL;
	bool is_segment = false;
	uintptr_t from, to;
	uint64_t kib;
	char line[512];

	*bytes = 0;
	while (smaps && fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			is_segment = is_mapping(line, name, &from, &to);
		else if (is_segment && sscanf(line, "ShmemPmdMapped: %" SCNu64, &kib) == 1)
			*bytes += kib * 1024;
	}
	return smaps && fclose(smaps) == 0;
}
