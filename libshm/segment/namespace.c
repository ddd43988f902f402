/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/namespace.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rl_admin.h"

static uint64_t
id_of(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? (uint64_t)file.st_ino & UINT32_MAX : 0;
}

/* "boottime SECONDS NANOSECONDS", as the kernel writes it. */
static uint64_t
read_shift(void)
{
	char text[256] = {0};
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	const char *line = len > 0 ? strstr(text, "boottime") : NULL;
	long long seconds, nanoseconds;

	if (fd >= 0)
		close(fd);
	if (!line || sscanf(line, "boottime %lld %lld", &seconds, &nanoseconds) != 2)
		return RL_SHIFT_UNKNOWN;
	return (uint64_t)seconds * RL_SECOND + (uint64_t)nanoseconds;
}

/* The file tells of the namespace that children will be in, which may be another. */
struct rl_time_namespace
rl_namespace_time(void)
{
	struct rl_time_namespace n = {id_of("/proc/self/ns/time"), RL_SHIFT_UNKNOWN};

	if (n.id != 0 && n.id == id_of("/proc/self/ns/time_for_children"))
		n.shift_ns = read_shift();
	return n;
}

bool
rl_namespace_shift(const struct rl_time_namespace *mine, const struct rl_time_namespace *theirs,
                   uint64_t *shift_ns)
{
	*shift_ns = 0;
	if (mine->shift_ns != RL_SHIFT_UNKNOWN && theirs->shift_ns != RL_SHIFT_UNKNOWN) {
		*shift_ns = theirs->shift_ns - mine->shift_ns;
		return true;
	}
	return mine->id == theirs->id || mine->id == 0 || theirs->id == 0;
}

#define DISAGREEMENT (60 * RL_SECOND) /* what setting a wall clock right may come to */

bool
rl_namespace_clocks_agree(uint64_t segment_ns, uint64_t wall_ns)
{
	uint64_t apart = segment_ns > wall_ns ? segment_ns - wall_ns : wall_ns - segment_ns;

	return apart <= DISAGREEMENT;
}

static uint64_t
pid_namespace(void)
{
	return id_of("/proc/self/ns/pid");
}

uint64_t
rl_namespace_pid(void)
{
	return pid_namespace() << 32 | (uint32_t)getpid();
}

int
rl_namespace_pid_here(uint64_t word)
{
	uint32_t pid = (uint32_t)word;

	if (pid == 0)
		return 0;
	if (word >> 32 == 0 || word >> 32 != pid_namespace() || pid > INT_MAX)
		return RL_PID_ELSEWHERE;
	return (int)pid;
}
