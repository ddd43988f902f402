/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/elsewhere.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
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

/* Of somebody whom this process may ask: its own and, for root, nearly all. 0: unknown. */
static uint32_t
namespace_of(const char *name)
{
	char path[64];
	struct stat file;

	snprintf(path, sizeof path, "/proc/%.20s/ns/pid", name);
	return stat(path, &file) == 0 ? (uint32_t)file.st_ino : 0;
}

/* Is it this process? What is unknown of a process, NULL or 0, may be anything. */
static void
compare(struct rl_stranger *s, uint32_t namespace, const struct rl_proc_numbers *numbers)
{
	struct rl_process here = s->process;

	if (namespace != 0 && namespace != here.namespace)
		return;
	s->is_visible |= namespace != 0;
	if (numbers)
		here.pid = numbers->outer;
	if (!numbers || (numbers->inner == s->process.pid && !rl_alive_is_dead(&here)))
		s->is_found = true;
}

/* A process with one number is of this namespace: no stranger. */
static void
visit(const char *name, struct rl_stranger *strangers, size_t count)
{
	struct rl_proc_numbers numbers;
	bool is_known = rl_proc_read_numbers(name, &numbers);
	uint32_t namespace;

	if (is_known ? numbers.levels == 1 : kill(atoi(name), 0) < 0 && errno == ESRCH)
		return;
	namespace = namespace_of(name);
	for (size_t i = 0; i < count; i++)
		compare(&strangers[i], namespace, is_known ? &numbers : NULL);
}

static bool
walk(struct rl_stranger *strangers, size_t count)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	bool is_whole;

	if (!processes)
		return false;
	while ((errno = 0, entry = readdir(processes)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			visit(entry->d_name, strangers, count);
	is_whole = errno == 0;
	closedir(processes);
	return is_whole;
}

static bool
is_dead(const struct rl_stranger *s, uint32_t here)
{
	return s->process.namespace != 0 && s->process.namespace != here && !s->is_found &&
	       (s->is_visible || here == HOST_NAMESPACE);
}

int
rl_elsewhere_judge(struct rl_stranger *strangers, size_t count, uint32_t here)
{
	bool is_whole;

	for (size_t i = 0; i < count; i++)
		strangers[i].is_found = strangers[i].is_visible = false;
	is_whole = here != 0 && rl_proc_is_ours() && !is_hiding() && walk(strangers, count);
	for (size_t i = 0; i < count; i++)
		strangers[i].is_dead = is_whole && is_dead(&strangers[i], here);
	return is_whole ? 0 : -EPERM;
}
