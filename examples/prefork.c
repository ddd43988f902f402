/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pre-forked HTTP server whose workers share one limit: each client address gets LIMIT
 * requests a minute, whichever worker it meets. Prints a line for each answer.
 *
 *	prefork SEGMENT LIMIT WORKERS
 */
#include <arpa/inet.h>
#include <rl.h>
#include <rl_http.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stopping;

static void
stop(int signal)
{
	(void)signal;
	stopping = 1;
}

static void
answer(int client, const struct rl_result *r)
{
	char wait[RL_HTTP_SECONDS_SIZE];

	if (rl_http_retry_after(r, wait, sizeof wait) > 0) /* only a denial has one */
		dprintf(client, "HTTP/1.0 429 Too Many Requests\r\nRetry-After: %s\r\n\r\n", wait);
	else
		dprintf(client, "HTTP/1.0 200 OK\r\nX-Remaining: %u\r\n\r\nhello\n", r->remaining);
}

static void
serve(struct rl *rl, int rule, int listener, int worker)
{
	printf("worker %d pid %d\n", worker, (int)getpid());
	for (;;) {
		struct sockaddr_in from;
		struct timeval patience = {.tv_sec = 5};
		socklen_t size = sizeof from;
		struct rl_result r;
		char request[4096], key[INET_ADDRSTRLEN];
		int client = accept(listener, (struct sockaddr *)&from, &size);
		if (client < 0)
			continue;
		setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		if (recv(client, request, sizeof request, 0) > 0) {
			inet_ntop(AF_INET, &from.sin_addr, key, sizeof key);
			rl_check(rl, rule, key, strlen(key), 1, &r);
			if (r.error) /* serve, but do not keep it to ourselves */
				fprintf(stderr, "prefork: %s\n", rl_strerror(r.error));
			printf("worker %d answers %d\n", worker,
			       r.verdict == RL_DENIED ? 429 : 200);
			answer(client, &r);
		}
		close(client);
	}
}

static int
listen_on_loopback(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) < 0 ||
	    listen(listener, 128) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0) {
		perror("prefork: listen");
		exit(2);
	}
	printf("listening on 127.0.0.1:%d\n", ntohs(at.sin_port));
	return listener;
}

int
main(int argc, char **argv)
{
	static pid_t workers[64];
	int count = argc == 4 ? atoi(argv[3]) : 0;
	struct rl *rl;

	if (count < 1 || count > 64) {
		fprintf(stderr, "usage: prefork SEGMENT LIMIT WORKERS\n");
		return 2;
	}
	int error = rl_open(argv[1], &(struct rl_options){.ring = 60}, &rl);
	if (error < 0) {
		fprintf(stderr, "prefork: segment %s: %s\n", argv[1], rl_strerror(error));
		return 2;
	}
	int rule = rl_define(rl, &(struct rl_rule){.name = "client",
	                                           .limit.capacity = (uint32_t)atoi(argv[2]),
	                                           .limit.window_ns = 60 * RL_SECOND,
	                                           .limit.granularity = 60,
	                                           .limit.hard = 1});
	if (rule < 0) {
		fprintf(stderr, "prefork: limit %s: %s\n", argv[2], rl_strerror(rule));
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
	int listener = listen_on_loopback();
	while (!stopping) {
		for (int i = 0; i < count; i++) {
			if (workers[i] == 0 && (workers[i] = fork()) == 0) {
				signal(SIGTERM, SIG_DFL);
				serve(rl, rule, listener, i + 1);
			}
		}
		pid_t dead = wait(NULL); /* a worker that died is replaced */
		for (int i = 0; i < count; i++)
			if (workers[i] == dead)
				workers[i] = 0;
	}
	for (int i = 0; i < count; i++)
		if (workers[i] > 0)
			kill(workers[i], SIGTERM);
	rl_close(rl);
	return 0;
}
