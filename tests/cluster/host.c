/* SPDX-License-Identifier: BSD-2-Clause */
#include "host.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

void
host_open(struct host *h, int number)
{
	host_open_for(h, number, 1000);
}

void
host_open_for(struct host *h, int number, uint32_t keys)
{
	const struct rl_options o = {
		.keys = keys, .ring = 64, .on_full = RL_FULL_DENY, .flags = RL_OPEN_CLUSTER};

	*h = (struct host){0};
	h->asks = mmap(NULL, sizeof *h->asks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	               -1, 0);
	assert_true(h->asks != MAP_FAILED);
	snprintf(h->segment, sizeof h->segment, "%s-%d", test_segment_name(), number);
	assert_int_equal(rl_open(h->segment, &o, &h->rl), 0);
}

static uint64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

static int
borrow(struct host *h, const struct cluster_options *options)
{
	struct cluster *c;
	uint64_t before = *h->asks;

	signal(SIGPIPE, SIG_IGN);
	c = cluster_open(options, h->rl, h->segment, monotonic_ns());
	if (!c)
		return 4;
	for (;;) {
		uint64_t now_ns = monotonic_ns(), due_ns = cluster_run(c, now_ns);
		struct pollfd p = {.fd = cluster_fd(c), .events = POLLIN};
		uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
		struct timespec wait = {(time_t)(wait_ns / RL_SECOND), (long)(wait_ns % RL_SECOND)};

		__atomic_store_n(h->asks, before + c->shares.counts.asks, __ATOMIC_RELAXED);
		ppoll(&p, 1, &wait, NULL);
	}
}

void
host_start_daemon(struct host *h, const struct cluster_options *options)
{
	pid_t parent = getpid();

	h->daemon = fork();
	assert_true(h->daemon >= 0);
	if (h->daemon > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent ? borrow(h, options) : 1);
}

void
host_kill_daemon(struct host *h)
{
	int status;

	if (h->daemon <= 0)
		return;
	assert_int_equal(waitpid(h->daemon, &status, WNOHANG), 0); /* it runs still */
	kill(h->daemon, SIGKILL);
	waitpid(h->daemon, NULL, 0);
	h->daemon = 0;
}

void
host_end(struct host *h)
{
	host_kill_daemon(h);
	rl_close(h->rl);
	rl_unlink(h->segment);
	munmap(h->asks, sizeof *h->asks);
	*h = (struct host){0};
}
