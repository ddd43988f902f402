/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "open.h"
#include "peer.h"

#define SERVERS_MAX 4
#define ARGUMENTS_MAX 24
#define PATIENCE_US 5000000
#define STEP_US 10000

static char directory[] = "/tmp/rl-bench.XXXXXX";
static pid_t owner, server[SERVERS_MAX];
static unsigned servers;

static int
remove_one(const char *path, const struct stat *file, int kind, struct FTW *ftw)
{
	(void)file;
	(void)kind;
	(void)ftw;
	return remove(path);
}

/* At exit, but of the process that started them only. */
static void
clean_up(void)
{
	if (getpid() != owner)
		return;
	for (unsigned i = 0; i < servers; i++) {
		kill(server[i], SIGTERM);
		waitpid(server[i], NULL, 0);
	}
	nftw(directory, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

static void
make_directory(void)
{
	if (owner)
		return;
	if (!mkdtemp(directory))
		bench_die("%s: %s", directory, strerror(errno));
	owner = getpid();
	bench_remove_at_end(directory);
	atexit(clean_up);
}

static void
run(const char *const argv[], const char *path)
{
	const char *arguments[ARGUMENTS_MAX + 1] = {0};
	int null = open("/dev/null", O_RDWR);

	for (unsigned i = 0; argv[i] && i < ARGUMENTS_MAX; i++)
		arguments[i] = strcmp(argv[i], "SOCKET") == 0      ? path
		               : strcmp(argv[i], "DIRECTORY") == 0 ? directory
		                                                   : argv[i];
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == owner)
		execvp(arguments[0], (char *const *)(uintptr_t)arguments);
	_exit(127);
}

int
peer_server_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
		int error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

static const char *
await_server(pid_t pid, const char *path)
{
	for (int waited = 0; waited < PATIENCE_US; waited += STEP_US) {
		int status, fd = peer_server_connect(path);
		if (fd >= 0) {
			close(fd);
			return NULL;
		}
		if (waitpid(pid, &status, WNOHANG) == pid) {
			servers--;
			return WIFEXITED(status) && WEXITSTATUS(status) == 127
			               ? "it is not installed"
			               : "its server ended at once";
		}
		usleep(STEP_US);
	}
	return "its server did not listen within 5 s";
}

const char *
peer_server_start(const char *const argv[], char path[static 128])
{
	pid_t pid;

	make_directory();
	if (servers == SERVERS_MAX)
		bench_die("too many servers");
	snprintf(path, 128, "%s/%u.sock", directory, servers);
	bench_remove_at_end(path);
	pid = fork();
	if (pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (pid == 0)
		run(argv, path);
	server[servers++] = pid;
	return await_server(pid, path);
}
