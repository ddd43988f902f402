/* SPDX-License-Identifier: BSD-2-Clause */
#include "server.h"

#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static char base[64];

const char *
server_base(void)
{
	if (base[0] == '\0') {
		strcpy(base, "/tmp/rl-cluster-XXXXXX");
		assert_non_null(mkdtemp(base));
	}
	return base;
}

void
server_clean(void)
{
	char command[128];

	if (base[0] == '\0')
		return;
	snprintf(command, sizeof command, "rm -rf '%s'", base);
	assert_int_equal(system(command), 0);
	base[0] = '\0';
}

unsigned
server_free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static void
write_file(const struct server *s, const char *more)
{
	char path[192];
	FILE *to;

	snprintf(path, sizeof path, "%s/redis.conf", s->directory);
	to = fopen(path, "w");
	assert_non_null(to);
	fprintf(to,
	        "port %u\nbind 127.0.0.1\nunixsocket %s\ndir %s\nsave \"\"\nappendonly no\n"
	        "daemonize no\nlogfile %s/log\n%s\n",
	        s->port, s->socket, s->directory, s->directory, more);
	assert_int_equal(fclose(to), 0);
}

static const char *
program(void)
{
	const char *name = getenv("RL_TEST_SERVER");

	return name ? name : "redis-server";
}

static void
run(struct server *s)
{
	char path[192];
	pid_t parent = getpid();

	snprintf(path, sizeof path, "%s/redis.conf", s->directory);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	execlp(program(), program(), path, (char *)NULL);
	_exit(127);
}

/* The socket is there before it answers. */
static void
wait_until_it_answers(const struct server *s)
{
	for (int i = 0; i < 3000; i++) {
		redisContext *c = redisConnectUnix(s->socket);
		redisReply *r = c && !c->err ? redisCommand(c, "PING") : NULL;

		if (r)
			freeReplyObject(r);
		if (c)
			redisFree(c);
		if (r)
			return;
		usleep(10000);
	}
	fail_msg("%s does not start: see %s/log", program(), s->directory);
}

void
server_restart(struct server *s, const char *more)
{
	unlink(s->socket);
	write_file(s, more);
	run(s);
	wait_until_it_answers(s);
}

void
server_start(struct server *s, const char *name, unsigned port, const char *more)
{
	*s = (struct server){.port = port};
	snprintf(s->directory, sizeof s->directory, "%s/%s", server_base(), name);
	snprintf(s->socket, sizeof s->socket, "%s/s", s->directory);
	assert_int_equal(mkdir(s->directory, 0700), 0);
	server_restart(s, more);
}

void
server_signal(const struct server *s, int signal)
{
	assert_int_equal(kill(s->pid, signal), 0);
}

void
server_kill(struct server *s)
{
	if (s->pid <= 0)
		return;
	server_signal(s, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}
