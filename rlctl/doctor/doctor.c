/* SPDX-License-Identifier: BSD-2-Clause */

#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

#define SETTLE_NS (50 * RL_MILLISECOND) /* what is being written takes less */

void
doctor_say(struct doctor *doctor, enum doctor_level level, const char *why, const char *format, ...)
{
	struct doctor_result *result;
	va_list arguments;

	doctor->results =
		array_grow(doctor->results, doctor->count, &doctor->room, sizeof(*doctor->results));
	result = &doctor->results[doctor->count++];
	*result = (struct doctor_result){.check = doctor->check, .level = level, .why = why};
	va_start(arguments, format);
	vsnprintf(result->what, sizeof(result->what), format, arguments);
	va_end(arguments);
}

void
doctor_fix(struct doctor *doctor, const char *format, ...)
{
	struct doctor_result *result = &doctor->results[doctor->count - 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(result->fix, sizeof(result->fix), format, arguments);
	va_end(arguments);
}

void
doctor_settle(void)
{
	struct timespec pause = {0, (long)SETTLE_NS};

	nanosleep(&pause, NULL);
}

bool
doctor_read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(line, (int)size, file);

	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	return is_read;
}

bool
doctor_may_create(const struct doctor *doctor)
{
	return !doctor->place.is_own ||
	       faccessat(AT_FDCWD, DOCTOR_OWN, W_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;
}

/* The group of the directory that systemd-tmpfiles makes may write it. */
void
doctor_fix_membership(struct doctor *doctor)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group;
	struct stat dir;

	if (stat(DOCTOR_OWN, &dir) < 0 || !(dir.st_mode & S_IWGRP)) {
		doctor_fix(doctor,
		           "systemd-tmpfiles --create rl.conf, and join the group of "
		           "%s",
		           DOCTOR_OWN);
		return;
	}
	group = getgrgid(dir.st_gid);
	doctor_fix(doctor,
	           "join the group of " DOCTOR_OWN ": usermod -aG %s %s, and restart "
	           "that user's processes",
	           group ? group->gr_name : "GROUP", user ? user->pw_name : "USER");
}
