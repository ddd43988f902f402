/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each worker takes a connection, works, and answers. What more come than there are workers wait in the
 * listener's queue, and with them everybody who comes later: that is the overload. A refusal costs a worker some
 * microseconds, and so the queue stays empty.
 */
#include "overload_server.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 4096

static uint64_t
cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* What takes 2 ms is to take 2 ms on any machine: so many turns as there is time for. */
static void
work(void)
{
	uint64_t end_ns = cpu_time() + SERVER_WORK_NS;
	struct timespec wait = {.tv_nsec = SERVER_WAIT_NS};

	do
		for (volatile int i = 0; i < 20000; i++)
			;
	while (cpu_time() < end_ns);
	nanosleep(&wait, NULL);
}

/* No Retry-After: when somebody else is done nobody knows. */
static const char *
answer_to(const struct adaptive *limit)
{
	struct adaptive_pass pass = {0};

	if (limit && adaptive_enter(limit, SERVER_KEY, rl_now(limit->rl), &pass) == RL_DENIED)
		return "HTTP/1.0 503 Service Unavailable\r\n\r\n";
	if (pass.error) /* serve, but do not keep it to ourselves */
		fprintf(stderr, "overload: %s\n", rl_strerror(pass.error));
	work();
	if (limit) /* before the answer, so that who has it can count on it */
		adaptive_leave(limit, SERVER_KEY, rl_now(limit->rl), &pass);
	return "HTTP/1.0 200 OK\r\n\r\ndone\n";
}

static void
serve(int listener, const struct adaptive *limit)
{
	for (;;) {
		struct timeval patience = {.tv_sec = 5};
		char request[4096];
		int client = accept(listener, NULL, NULL);

		if (client < 0)
			continue;
		setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		if (recv(client, request, sizeof request, 0) > 0) {
			const char *answer = answer_to(limit);
			send(client, answer, strlen(answer), MSG_NOSIGNAL);
		}
		close(client);
	}
}

/* A worker goes with its parent, whatever becomes of that. */
static void
begin_worker(int listener, const struct adaptive *limit, size_t cpu)
{
	cpu_set_t one;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) < 0)
		perror("overload: sched_setaffinity");
	serve(listener, limit);
}

int
server_start(struct server *s, const struct adaptive *limit, size_t cpu)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*s = (struct server){.at.sun_family = AF_UNIX, .at_size = sizeof s->at};
	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&s->at, sizeof s->at.sun_family) < 0 ||
	    listen(listener, BACKLOG) < 0 ||
	    getsockname(listener, (struct sockaddr *)&s->at, &s->at_size) < 0)
		return -errno;
	for (int i = 0; i < SERVER_WORKERS; i++) {
		s->workers[i] = fork();
		if (s->workers[i] == 0)
			begin_worker(listener, limit, cpu);
		if (s->workers[i] < 0)
			return -errno;
	}
	close(listener);
	return 0;
}

void
server_stop(struct server *s)
{
	for (int i = 0; i < SERVER_WORKERS; i++)
		if (s->workers[i] > 0)
			kill(s->workers[i], SIGTERM);
	for (int i = 0; i < SERVER_WORKERS; i++)
		if (s->workers[i] > 0)
			waitpid(s->workers[i], NULL, 0);
}
