/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that fetch from a server and share one rate with each other, and with every other
 * process of the host that fetches from it: each books its turn and sleeps until then.
 *
 *	threads SEGMENT PER_SECOND PORT REQUESTS THREADS
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <rl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct rl *rl;
static int rule;
static int port;
static atomic_int left;
static atomic_int fetched;

static int
fetch(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char answer[16] = "";
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return 0;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
	    dprintf(fd, "GET / HTTP/1.0\r\n\r\n") > 0)
		recv(fd, answer, sizeof answer - 1, MSG_WAITALL);
	close(fd);
	return strncmp(answer, "HTTP/1.", 7) == 0 && strncmp(answer + 8, " 200", 4) == 0;
}

/* What is booked is charged, so that the turn stays ours while we sleep. */
static void
wait_for_turn(void)
{
	struct rl_result r;

	if (rl_reserve(rl, rule, "server", 6, 1, 3600 * RL_SECOND, &r) != RL_ALLOWED) {
		fprintf(stderr, "threads: %s\n",
		        r.error ? rl_strerror(r.error) : "an hour's turns are taken");
		exit(1);
	}
	struct timespec wait = {.tv_sec = (time_t)(r.delay_ns / RL_SECOND),
	                        .tv_nsec = (long)(r.delay_ns % RL_SECOND)};
	while (nanosleep(&wait, &wait) < 0)
		;
}

static void *
work(void *arg)
{
	while (atomic_fetch_sub(&left, 1) > 0) {
		wait_for_turn();
		fetched += fetch();
	}
	return arg;
}

static void
run(int count)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0) {
			perror("threads: pthread_create");
			exit(1);
		}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int
main(int argc, char **argv)
{
	int count = argc == 6 ? atoi(argv[5]) : 0;

	if (count < 1 || count > 64) {
		fprintf(stderr, "usage: threads SEGMENT PER_SECOND PORT REQUESTS THREADS\n");
		return 2;
	}
	port = atoi(argv[3]);
	left = atoi(argv[4]);
	int requests = left;
	int error = rl_open(argv[1], NULL, &rl);
	if (error < 0) {
		fprintf(stderr, "threads: segment %s: %s\n", argv[1], rl_strerror(error));
		return 2;
	}
	rule = rl_define(rl, &(struct rl_rule){.name = "fetch",
	                                       .limit.algorithm = RL_TOKEN_BUCKET,
	                                       .limit.capacity = (uint32_t)atoi(argv[2]),
	                                       .limit.window_ns = RL_SECOND,
	                                       .limit.burst = 1});
	if (rule < 0) {
		fprintf(stderr, "threads: %s a second: %s\n", argv[2], rl_strerror(rule));
		return 2;
	}
	uint64_t start = rl_now(rl);
	run(count);
	printf("%d of %d in %llu ms\n", fetched, requests,
	       (unsigned long long)((rl_now(rl) - start) / RL_MILLISECOND));
	rl_close(rl);
	return fetched == requests ? 0 : 1;
}
