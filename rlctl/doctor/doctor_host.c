/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the machine and the container that the segment lives in. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/number.h"
#include "base/output.h"
#include "doctor/doctor.h"

#define SHM "/dev/shm"
#define SHM_SMALL (UINT64_C(64) << 20) /* what containers often have */
#define KEY_BYTES 200                  /* that a key takes at least, with all beside it */
#define LOGIN_UID_MIN 1000             /* below are system users, whom RemoveIPC spares */

static void
check_shm_room(struct doctor *doctor, const struct statfs *fs)
{
	uint64_t size = fs->f_blocks * (uint64_t)fs->f_bsize;
	uint64_t room = fs->f_bavail * (uint64_t)fs->f_bsize;

	if (size > 0 && room < size / 10) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "a segment is given all its memory when it is made, and one that does "
		           "not fit is refused",
		           "%s has %s left of %s", SHM, bytes_format(room).text,
		           bytes_format(size).text);
		doctor_fix(doctor, "mount -o remount,size=%" PRIu64 "M %s", (size >> 19) + 1, SHM);
	} else if (size > 0 && size <= SHM_SMALL) {
		doctor_say(doctor, DOCTOR_NOTE,
		           size == SHM_SMALL
		                   ? "that is what containers are given unless they ask for more"
		                   : "a segment for more keys than fit is refused",
		           "%s holds %s, room for some %" PRIu64 " keys at most", SHM,
		           bytes_format(size).text, size / KEY_BYTES);
		doctor_fix(doctor, "start the container with --shm-size=1g, or mount -o "
		                   "remount,size=1G " SHM);
	} else {
		doctor_say(doctor, DOCTOR_OK, NULL, "%s has %s left of %s", SHM,
		           bytes_format(room).text, bytes_format(size).text);
	}
}

static bool
is_read_only(const char *directory)
{
	struct statvfs fs;

	return statvfs(directory, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

/* Of where the segment is or would be; NULL if that can be written. Both may be mounts. */
static const char *
read_only_mount(const struct doctor *doctor)
{
	if (!is_read_only(doctor->place.is_own ? DOCTOR_OWN : SHM))
		return NULL;
	return is_read_only(SHM) ? SHM : DOCTOR_OWN;
}

void
check_shm(struct doctor *doctor)
{
	const char *read_only = read_only_mount(doctor);
	struct statfs fs;

	if (statfs(SHM, &fs) < 0) {
		doctor_say(doctor, DOCTOR_FINDING, "segments live there: none can be made",
		           "%s: %s", SHM, strerror(errno));
		doctor_fix(doctor, "mkdir -p %s && mount -t tmpfs -o mode=1777 tmpfs %s", SHM, SHM);
	} else if (read_only) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "a process can read a segment there and count nothing in it; none can "
		           "be made or removed",
		           "%s is mounted read-only", read_only);
		doctor_fix(doctor, "mount -o remount,rw %s", read_only);
	} else if (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC) {
		doctor_say(doctor, DOCTOR_FINDING,
		           "every counter that changes would be written to a disk",
		           "%s is no tmpfs", SHM);
		doctor_fix(doctor, "mount -t tmpfs -o mode=1777 tmpfs %s", SHM);
	} else {
		check_shm_room(doctor, &fs);
	}
}

static unsigned
protected_regular(void)
{
	char line[32];

	return doctor_read_line("/proc/sys/fs/protected_regular", line, sizeof(line))
	               ? (unsigned)strtoul(line, NULL, 10)
	               : 0;
}

/* With a segment in use it matters only to who makes the next. */
static void
check_membership(struct doctor *doctor)
{
	if (doctor_may_create(doctor)) {
		doctor_say(doctor, DOCTOR_OK, NULL,
		           DOCTOR_OWN " is root's, and segments are made there");
		return;
	}
	doctor_say(doctor, doctor->rl ? DOCTOR_NOTE : DOCTOR_FINDING,
	           "segments are made there, and workers of this user cannot make one",
	           "this user may not write " DOCTOR_OWN);
	doctor_fix_membership(doctor);
}

/* A user who may not write it cannot take a name; false if there is none. */
static bool
check_own_directory(struct doctor *doctor)
{
	struct stat dir;

	if (lstat(DOCTOR_OWN, &dir) < 0)
		return false;
	if (S_ISDIR(dir.st_mode) && dir.st_uid == 0 && !(dir.st_mode & S_IWOTH)) {
		check_membership(doctor);
		return true;
	}
	doctor_say(doctor, DOCTOR_FINDING,
	           "such a directory is not used, and any user can take a segment's name in " SHM,
	           DOCTOR_OWN " is another user's, or everybody may write it");
	doctor_fix(doctor, "rm -r " DOCTOR_OWN "; systemd-tmpfiles --create rl.conf");
	return true;
}

void
check_directory(struct doctor *doctor)
{
	unsigned level = protected_regular();
	struct stat dir;

	if (stat(SHM, &dir) < 0)
		return; /* check_shm() has said so */
	if ((dir.st_mode & S_IWOTH) && !(dir.st_mode & S_ISVTX)) {
		doctor_say(doctor, DOCTOR_FINDING, "every user may remove or replace every segment",
		           "%s is writable by all and has no sticky bit", SHM);
		doctor_fix(doctor, "chmod 1777 %s", SHM);
	} else if (check_own_directory(doctor)) {
		return;
	} else if ((dir.st_mode & S_IWOTH) && level == 0) {
		doctor_say(doctor, DOCTOR_NOTE,
		           "another user can put a file where a segment is to be: it is refused by "
		           "its owner, and none can be made until it is removed",
		           "fs.protected_regular is 0");
		doctor_fix(doctor, "sysctl fs.protected_regular=2");
	} else {
		doctor_say(doctor, DOCTOR_OK, NULL,
		           "fs.protected_regular is %u; segments are opened before they are "
		           "created, so it is in nobody's way",
		           level);
	}
}

/* The last value that a configuration of logind gives, or `value`. */
static bool
read_removeipc(const char *path, bool value)
{
	FILE *file = fopen(path, "re");
	char line[256], word[16];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " RemoveIPC = %15s", word) == 1)
			value = strcmp(word, "no") != 0 && strcmp(word, "false") != 0 &&
			        strcmp(word, "0") != 0 && strcmp(word, "off") != 0;
	if (file)
		fclose(file);
	return value;
}

/* logind's default is yes; drop-ins are read in the order of their names. */
static bool
logind_removes_ipc(void)
{
	static const char dir[] = "/etc/systemd/logind.conf.d";
	bool value = read_removeipc("/etc/systemd/logind.conf", true);
	struct dirent **files;
	int count = scandir(dir, &files, NULL, alphasort);
	char path[sizeof(dir) + sizeof(files[0]->d_name)];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]->d_name);
		value = read_removeipc(path, value);
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	return value;
}

static bool
is_lingering(const char *user)
{
	char path[128];

	snprintf(path, sizeof(path), "/var/lib/systemd/linger/%s", user);
	return access(path, F_OK) == 0;
}

void
check_removeipc(struct doctor *doctor)
{
	const struct passwd *user = getpwuid(doctor->info.owner);
	const char *name = user ? user->pw_name : "its owner";

	if (access("/run/systemd/seats", F_OK) < 0)
		doctor_say(doctor, DOCTOR_OK, NULL, "no logind runs here");
	else if (doctor->info.owner < LOGIN_UID_MIN)
		doctor_say(doctor, DOCTOR_OK, NULL, "owned by a system user, whom logind spares");
	else if (!logind_removes_ipc())
		doctor_say(doctor, DOCTOR_OK, NULL, "RemoveIPC is off");
	else if (is_lingering(name))
		doctor_say(doctor, DOCTOR_OK, NULL, "%s lingers, and logind spares what is theirs",
		           name);
	else {
		doctor_say(doctor, DOCTOR_FINDING,
		           "logind removes the segment when the user's last session ends, and "
		           "workers that start later count anew",
		           "owned by %s, who is no system user, and RemoveIPC is on", name);
		doctor_fix(doctor, "loginctl enable-linger %s, or run the workers as a system user",
		           name);
	}
}

/* The memory limit of this process's control group; false if it has none. */
static bool
read_limit(const char *path, uint64_t *limit)
{
	const char *digits;
	char line[32];

	if (!doctor_read_line(path, line, sizeof(line)))
		return false;
	digits = line;
	return number_read(&digits, limit) && *digits == '\0' && *limit < UINT64_MAX / 4;
}

static bool
read_group_limit(uint64_t *limit)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[512], path[640];
	bool is_found = false;

	while (file && !is_found && fgets(line, sizeof(line), file)) {
		const char *v1 = strstr(line, ":memory:");

		line[strcspn(line, "\n")] = '\0';
		if (v1)
			snprintf(path, sizeof(path),
			         "/sys/fs/cgroup/memory%s/memory.limit_in_bytes",
			         v1 + strlen(":memory:"));
		else if (strncmp(line, "0::", 3) == 0)
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
		else
			continue;
		is_found = read_limit(path, limit);
	}
	if (file)
		fclose(file);
	return is_found;
}

void
check_memory(struct doctor *doctor)
{
	uint64_t limit;

	if (!read_group_limit(&limit)) {
		doctor_say(doctor, DOCTOR_OK, NULL, "no memory limit in this control group");
	} else if (doctor->info.bytes > limit / 2) {
		doctor_say(
			doctor, DOCTOR_FINDING,
			"the segment's pages count against the group that touches them first, and "
			"beyond the limit the kernel kills",
			"the segment has %s, and this control group may use %s",
			bytes_format(doctor->info.bytes).text, bytes_format(limit).text);
		doctor_fix(doctor, "raise MemoryMax= of the unit, or --memory of the container, or "
		                   "make the segment for fewer keys");
	} else {
		doctor_say(doctor, DOCTOR_OK, NULL, "the segment has %s of the %s it may use",
		           bytes_format(doctor->info.bytes).text, bytes_format(limit).text);
	}
}

void
check_file_size(struct doctor *doctor)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= doctor->info.bytes) {
		doctor_say(doctor, DOCTOR_OK, NULL, "files may grow to the segment's size");
		return;
	}
	doctor_say(doctor, DOCTOR_FINDING,
	           "workers with the same limit cannot create the segment when it is gone",
	           "files may grow to %s alone, and the segment has %s",
	           bytes_format(limit.rlim_cur).text, bytes_format(doctor->info.bytes).text);
	doctor_fix(doctor, "ulimit -f unlimited, or LimitFSIZE=infinity in the unit");
}

/* By how much CLOCK_BOOTTIME is shifted here, in seconds; 0 outside of time namespaces. */
static bool
read_boottime_offset(long *seconds)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	bool is_read = file && fscanf(file, "%*s %*d %*d boottime %ld", seconds) == 1;

	if (file)
		fclose(file);
	return is_read;
}

void
check_namespace(struct doctor *doctor)
{
	long seconds;

	if (!read_boottime_offset(&seconds)) {
		doctor_say(doctor, DOCTOR_SKIPPED, NULL, "the kernel tells of no time namespaces");
	} else if (seconds != 0) {
		doctor_say(
			doctor, DOCTOR_OK, NULL,
			"this is a time namespace, %ld s off the host's clock; a segment is read "
			"by that of its creator",
			seconds);
	} else {
		doctor_say(doctor, DOCTOR_OK, NULL, "the clock is the host's");
	}
}
