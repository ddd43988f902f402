/* SPDX-License-Identifier: BSD-2-Clause */
#include "overload_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define OPEN_MAX 16384
#define PATIENCE_MS 30000 /* without any answer */

struct driver {
	const struct load *load;
	struct load_result *result;
	int poll;
	size_t open;
	uint64_t due_ns[OPEN_MAX]; /* of each descriptor: when its request was to be sent */
	uint64_t *times_ns;        /* of each that was served */
	size_t room;
};

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Until the next: of a Poisson process, and the same ones in each run. */
static uint64_t
gap(const struct load *load, unsigned short seed[3])
{
	return (uint64_t)(-log(1 - erand48(seed)) / load->per_second * (double)SECOND);
}

static int
connect_now(const struct load *load)
{
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	int fd = socket(load->to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (fd < OPEN_MAX && connect(fd, load->to, load->to_size) == 0 &&
	    send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0)
		return fd;
	close(fd); /* the server's queue is full */
	return -1;
}

static void
send_one(struct driver *d, uint64_t due_ns)
{
	int fd = connect_now(d->load);
	struct epoll_event on = {.events = EPOLLIN, .data.fd = fd};

	d->result->sent++;
	if (fd < 0 || epoll_ctl(d->poll, EPOLL_CTL_ADD, fd, &on) < 0) {
		d->result->lost++;
		return;
	}
	d->due_ns[fd] = due_ns;
	d->open++;
}

static void
count_served(struct driver *d, uint64_t time_ns)
{
	struct load_result *r = d->result;

	if (r->served < d->room)
		d->times_ns[r->served++] = time_ns;
	r->in_time += time_ns <= d->load->in_time_ns;
}

static void
receive(struct driver *d, int fd)
{
	char answer[64] = "";

	recv(fd, answer, sizeof answer - 1, 0);
	if (strncmp(answer, "HTTP/1.0 200", 12) == 0)
		count_served(d, now() - d->due_ns[fd]);
	else if (strncmp(answer, "HTTP/1.0 503", 12) == 0)
		d->result->denied++;
	else
		d->result->lost++;
	close(fd);
	d->open--;
}

/* The number that came, at most in so long. */
static int
receive_some(struct driver *d, int wait_ms)
{
	struct epoll_event events[64];
	int count = epoll_wait(d->poll, events, 64, wait_ms);

	for (int i = 0; i < count; i++)
		receive(d, events[i].data.fd);
	return count;
}

/* To the millisecond: what is due in one goes out together. */
static void
drive(struct driver *d)
{
	unsigned short seed[3] = {1, 2, 3};
	uint64_t due_ns = now(), end_ns = due_ns + (uint64_t)(d->load->seconds * (double)SECOND);

	while (due_ns < end_ns) {
		for (; due_ns <= now() && due_ns < end_ns; due_ns += gap(d->load, seed))
			send_one(d, due_ns);
		receive_some(d, 1);
	}
	while (d->open > 0 && receive_some(d, PATIENCE_MS) > 0)
		;
	d->result->lost += d->open;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
load_run(const struct load *load, struct load_result *result)
{
	size_t room = (size_t)(2 * load->per_second * load->seconds) + 1000;
	struct driver *d = calloc(1, sizeof *d);
	uint64_t *times_ns = calloc(room, sizeof *times_ns);

	*result = (struct load_result){0};
	if (!d || !times_ns)
		return -ENOMEM;
	*d = (struct driver){.load = load, .result = result, .times_ns = times_ns, .room = room};
	d->poll = epoll_create1(EPOLL_CLOEXEC);
	if (d->poll < 0)
		return -errno;
	drive(d);
	qsort(times_ns, result->served, sizeof *times_ns, compare);
	if (result->served > 0) {
		result->p50_ns = times_ns[result->served / 2];
		result->p99_ns = times_ns[result->served * 99 / 100];
	}
	close(d->poll);
	free(times_ns);
	free(d);
	return 0;
}
