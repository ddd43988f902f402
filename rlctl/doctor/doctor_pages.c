/* SPDX-License-Identifier: BSD-2-Clause */
/* Check of the pages that the segment lies on. */

#include <string.h>

#include "base/huge_pages.h"
#include "doctor/doctor.h"

#define SETTING "/sys/kernel/mm/transparent_hugepage/shmem_enabled"

static bool
is_denied(void)
{
	char line[128];

	return doctor_read_line(SETTING, line, sizeof(line)) && strstr(line, "[deny]");
}

static void
mend_pages(struct doctor *doctor, bool has_some)
{
	const char *name = doctor->name;

	if (is_denied())
		doctor_fix(doctor, "echo never >" SETTING ", then " DOCTOR_RECREATE, name, name, "",
		           name);
	else if (has_some)
		doctor_fix(doctor, "echo 1 >/proc/sys/vm/compact_memory, then " DOCTOR_RECREATE,
		           name, name, "", name);
	else
		doctor_fix(doctor,
		           "mount -o remount,huge=within_size /dev/shm, then " DOCTOR_RECREATE,
		           name, name, "", name);
}

static void
say_too_few(struct doctor *doctor, uint64_t bytes)
{
	doctor_say(doctor, DOCTOR_FINDING,
	           "a decision on a table larger than the caches waits for the translation of "
	           "addresses; the rest works as well",
	           "huge pages were asked for, and %s of %s lie on them%s",
	           bytes ? bytes_format(bytes).text : "none", bytes_format(doctor->info.bytes).text,
	           is_denied() ? ": shmem_enabled of this kernel is deny" : "");
	mend_pages(doctor, bytes > 0);
}

void
check_pages(struct doctor *doctor)
{
	uint64_t room = doctor->info.bytes / HUGE_PAGE * HUGE_PAGE, bytes;

	if (!huge_pages_read(doctor->name, &bytes))
		doctor_say(doctor, DOCTOR_SKIPPED, NULL, "/proc/self/smaps cannot be read");
	else if (doctor->info.huge_pages && bytes < room / 2)
		say_too_few(doctor, bytes);
	else if (bytes > 0)
		doctor_say(doctor, DOCTOR_OK, NULL, "%s of %s lie on huge pages",
		           bytes_format(bytes).text, bytes_format(doctor->info.bytes).text);
	else
		doctor_say(doctor, DOCTOR_OK, NULL, "huge pages %s",
		           doctor->info.huge_pages ? "are larger than the segment"
		                                   : "were not asked for");
}
