/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/elsewhere.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "holder/proc.h"

#define HOST_NAMESPACE 0xeffffffcu /* the first pid namespace has had this inode since Linux 3.8 */

/* Does any mount hide processes? "hidepid=" is among the options of /proc, and of nothing else. */
static bool
is_hiding(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool hides = !mounts;

	while (!hides && getline(&line, &size, mounts) >= 0)
		hides = strstr(line, "hidepid=");
	free(line);
	if (mounts)
		fclose(mounts);
	return hides;
}

/* One process that lives in `namespace`, or is a zombie there. */
static void
meet(const char *name, uint32_t namespace, struct rl_stranger *strangers, size_t count)
{
	struct rl_proc_numbers numbers;
	bool is_known = rl_proc_read_numbers(name, &numbers);

	for (size_t i = 0; i < count; i++) {
		struct rl_stranger *s = &strangers[i];
		struct rl_process here = s->process;

		if (here.namespace != namespace)
			continue;
		s->is_visible = true;
		here.pid = is_known ? numbers.outer : 0;
		if (!is_known || (numbers.inner == s->process.pid && !rl_alive_is_dead(&here)))
			s->is_found = true;
	}
}

/* 0: it was met, is of the own namespace, or is no more. -EPERM: it could not be asked. */
static int
visit(const char *name, struct rl_stranger *strangers, size_t count, uint32_t here)
{
	char path[64];
	struct stat file;

	snprintf(path, sizeof path, "/proc/%.20s/ns/pid", name);
	if (stat(path, &file) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -EPERM;
	if ((uint32_t)file.st_ino != here)
		meet(name, (uint32_t)file.st_ino, strangers, count);
	return 0;
}

static int
walk(struct rl_stranger *strangers, size_t count, uint32_t here)
{
	DIR *processes = opendir("/proc");
	int error = processes ? 0 : -EPERM;
	const struct dirent *entry;

	while (error == 0) {
		errno = 0;
		entry = readdir(processes);
		if (!entry) {
			error = errno == 0 ? 0 : -EPERM;
			break;
		}
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			error = visit(entry->d_name, strangers, count, here);
	}
	if (processes)
		closedir(processes);
	return error;
}

int
rl_elsewhere_judge(struct rl_stranger *strangers, size_t count, uint32_t here)
{
	int error = here != 0 && rl_proc_is_ours() && !is_hiding() ? 0 : -EPERM;

	for (size_t i = 0; i < count; i++)
		strangers[i].is_found = strangers[i].is_visible = false;
	if (error == 0)
		error = walk(strangers, count, here);
	for (size_t i = 0; i < count; i++) {
		struct rl_stranger *s = &strangers[i];
		bool would_be_seen = s->is_visible || here == HOST_NAMESPACE;

		s->is_dead = error == 0 && s->process.namespace != 0 &&
		             s->process.namespace != here && !s->is_found && would_be_seen;
	}
	return error;
}
