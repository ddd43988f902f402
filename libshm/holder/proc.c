/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 8192 /* enough for a status with seven hundred groups */

/* The file /proc/NAME/FILE, as far as it fits. */
static bool
read_file(const char *name, const char *file, char text[static TEXT_BYTES])
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/%s/%s", name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, TEXT_BYTES - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/*
 * "PID (NAME) STATE ...": 20 is the number of threads, 22 the start. A name may have any bytes, but
 * the fields behind it have no bracket.
 */
bool
rl_proc_read_stat(const char *name, struct rl_proc_stat *stat)
{
	char text[TEXT_BYTES];
	const char *at = read_file(name, "stat", text) ? strrchr(text, ')') : NULL;
	unsigned long long start;

	if (!at || sscanf(at + 1,
	                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d "
	                  "%*d %llu",
	                  &stat->state, &stat->threads, &start) != 3)
		return false;
	stat->start_ticks = start;
	return true;
}

/* "NSpid:\t10073\t2": from the namespace that /proc is of down to the process's own. */
bool
rl_proc_read_numbers(const char *name, struct rl_proc_numbers *numbers)
{
	char text[TEXT_BYTES], *at, *end;

	if (!read_file(name, "status", text) || !(at = strstr(text, "\nNSpid:")))
		return false;
	*numbers = (struct rl_proc_numbers){0};
	for (at += strlen("\nNSpid:"); *at == '\t'; at = end) {
		numbers->inner = (pid_t)strtol(at, &end, 10);
		if (numbers->levels++ == 0)
			numbers->outer = numbers->inner;
		if (end == at || numbers->inner <= 0)
			return false;
	}
	return numbers->levels > 0 && *at == '\n';
}

/* That of a namespace above has more than one number of this process. */
bool
rl_proc_is_ours(void)
{
	struct rl_proc_numbers own;

	return rl_proc_read_numbers("self", &own) && own.levels == 1 && own.outer == getpid();
}
