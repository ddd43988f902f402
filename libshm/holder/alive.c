/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/alive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "holder/proc.h"
#include "rl.h"
#include "segment/namespace.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define PIDFS 0x50494446               /* since Linux 6.9; before, all pidfds had one inode */
#define GET_PID_NAMESPACE _IO(0xff, 5) /* of a pidfd, since Linux 6.11 */
#define TICK_NS (RL_SECOND / 100)      /* USER_HZ */
#define START_MASK ((UINT64_C(1) << RL_PROCESS_START_BITS) - 1)

static int
open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static uint32_t
inode_of(int pidfd)
{
	struct statfs fs;
	struct stat file;

	if (fstatfs(pidfd, &fs) < 0 || fs.f_type != PIDFS || fstat(pidfd, &file) < 0)
		return 0;
	return (uint32_t)file.st_ino;
}

/*
 * Of a start as it was read in this process's time namespace; 0 if nobody knows how that is
 * shifted. Where /proc knows of no time namespace the kernel has none.
 */
static uint64_t
start_of(const struct rl_proc_stat *stat)
{
	struct rl_time_namespace mine = rl_namespace_time();
	uint64_t shift_ns = mine.id == 0 ? 0 : mine.shift_ns;

	if (shift_ns == RL_SHIFT_UNKNOWN)
		return 0;
	return ((stat->start_ticks * TICK_NS - shift_ns) / TICK_NS) & START_MASK;
}

/* Shifts are not in ticks: what is the same may seem one apart. */
static bool
is_same_start(uint64_t a, uint64_t b)
{
	return a == 0 || b == 0 || ((a - b + 1) & START_MASK) <= 2;
}

/* What /proc says of the number, if it is known to say it of that number. */
static bool
read_stat(pid_t pid, struct rl_proc_stat *stat)
{
	char name[16];

	snprintf(name, sizeof name, "%d", (int)pid);
	return rl_proc_is_ours() && rl_proc_read_stat(name, stat);
}

/* By the first thread: an emulator makes up what a process reads in /proc/self/stat. */
static bool
read_own_stat(struct rl_proc_stat *stat)
{
	char name[32];

	snprintf(name, sizeof name, "self/task/%d", (int)getpid());
	return rl_proc_read_stat(name, stat);
}

static bool
is_dead_by_pidfd(int pidfd, const struct rl_process *p)
{
	struct pollfd readable = {.fd = pidfd, .events = POLLIN};
	uint32_t inode = inode_of(pidfd);
	struct rl_proc_stat stat;

	if (p->inode != 0 && inode != 0 && inode != p->inode)
		return true;
	if (poll(&readable, 1, 0) > 0 && (readable.revents & POLLIN))
		return true;
	if (p->inode != 0 && inode != 0)
		return false;
	return read_stat(p->pid, &stat) && !is_same_start(start_of(&stat), p->start);
}

static bool
is_dead_by_number(const struct rl_process *p)
{
	struct rl_proc_stat stat;

	if (kill(p->pid, 0) < 0 && errno == ESRCH)
		return true;
	if (!read_stat(p->pid, &stat))
		return false;
	return !is_same_start(start_of(&stat), p->start) ||
	       (stat.state == 'Z' && stat.threads == 1);
}

bool
rl_alive_is_dead(const struct rl_process *p)
{
	int pidfd = open_pidfd(p->pid);
	bool is_dead;

	if (pidfd < 0)
		return errno == ESRCH || is_dead_by_number(p);
	is_dead = is_dead_by_pidfd(pidfd, p);
	close(pidfd);
	return is_dead;
}

enum rl_alive
rl_alive_judge(const struct rl_process *p, uint32_t here)
{
	if (p->namespace == 0 || p->namespace != here)
		return RL_ELSEWHERE;
	return rl_alive_is_dead(p) ? RL_DEAD : RL_ALIVE;
}

/* For who has no /proc, as in a chroot. */
static uint32_t
namespace_of(int pidfd)
{
	int fd = ioctl(pidfd, GET_PID_NAMESPACE, 0);
	struct stat file;
	uint32_t namespace = 0;

	if (fd >= 0 && fstat(fd, &file) == 0)
	namespace = (uint32_t)file.st_ino;
	if (fd >= 0)
		close(fd);
	return namespace;
}

static uint32_t
namespace_by(int pidfd)
{
	uint32_t namespace = (uint32_t)(rl_namespace_pid() >> 32);

	return namespace == 0 && pidfd >= 0 ? namespace_of(pidfd) : namespace;
}

uint32_t
rl_process_namespace(void)
{
	int pidfd = open_pidfd(getpid());
	uint32_t namespace = namespace_by(pidfd);

	if (pidfd >= 0)
		close(pidfd);
	return namespace;
}

struct rl_process
rl_process_self(void)
{
	struct rl_process self = {.pid = getpid()};
	int pidfd = open_pidfd(self.pid);
	struct rl_proc_stat stat;

	self.namespace = namespace_by(pidfd);
	if (read_own_stat(&stat))
		self.start = start_of(&stat);
	if (pidfd >= 0) {
		self.inode = inode_of(pidfd);
		close(pidfd);
	}
	return self;
}
