/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of a server that is asked for more than it can do, with and without a limit on what is in flight
 * that finds its capacity by itself. Its workers have one CPU, and the load comes from another if there is one.
 * Exits 0 if with the limit every request was answered and every unit came back.
 *
 *	overload SEGMENT SECONDS PERCENT...
 *
 * loads it, for so many seconds each, with so many percent of what its CPU can do.
 */
#include "adaptive.h"
#include "overload_load.h"
#include "overload_server.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define IN_TIME_MS 100
#define PER_SECOND ((double)(RL_SECOND / SERVER_WORK_NS))

struct stage {
	struct adaptive limit;
	struct server bare, limited;
	double seconds;
};

static void
fail(const char *what, int error)
{
	fprintf(stderr, "overload: %s: %s\n", what, rl_strerror(error));
	exit(2);
}

/* The first CPU is the server's; this process leaves it if it can. Returns which that is. */
static size_t
share_cpus(void)
{
	cpu_set_t all;
	size_t first = 0;

	if (sched_getaffinity(0, sizeof all, &all) < 0)
		return 0;
	while (!CPU_ISSET(first, &all))
		first++;
	if (CPU_COUNT(&all) > 1)
		CPU_CLR(first, &all);
	sched_setaffinity(0, sizeof all, &all);
	return first;
}

static void
allow_descriptors(void)
{
	struct rlimit most;

	getrlimit(RLIMIT_NOFILE, &most);
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

static void
start(struct stage *s, const char *segment)
{
	struct rl *rl;
	size_t cpu = share_cpus();
	int error;

	allow_descriptors();
	if ((error = rl_open(segment, NULL, &rl)) < 0)
		fail(segment, error);
	if ((error = adaptive_open(&s->limit, rl, "overload", SERVER_LIMIT_MAX)) < 0)
		fail("limit", error);
	if ((error = server_start(&s->bare, NULL, cpu)) < 0 ||
	    (error = server_start(&s->limited, &s->limit, cpu)) < 0)
		fail("server", error);
}

static struct load_result
drive(const struct stage *s, const struct server *server, double percent)
{
	struct load_result r;
	struct load load = {.to = (const struct sockaddr *)&server->at,
	                    .to_size = server->at_size,
	                    .per_second = PER_SECOND * percent / 100,
	                    .seconds = s->seconds,
	                    .in_time_ns = IN_TIME_MS * RL_MILLISECOND};
	int error = load_run(&load, &r);

	if (error < 0)
		fail("load", error);
	return r;
}

static double
ms(uint64_t ns)
{
	return (double)ns / (double)RL_MILLISECOND;
}

static void
print_head(void)
{
	printf("one CPU; %.0f ms of it and %.0f ms of waiting in each request: %.0f/s at most\n"
	       "%d workers; in time: /s within %d ms; times in ms\n\n",
	       ms(SERVER_WORK_NS), ms(SERVER_WAIT_NS), PER_SECOND, SERVER_WORKERS, IN_TIME_MS);
	printf("         without a limit            with the limit that is found\n"
	       "offered  served in time  p50   p99  served in time denied  p50   p99 limit\n");
}

/* 0 if every request to the limited server was answered. Of the other some may find its queue full. */
static int
compare(const struct stage *s, double percent)
{
	struct load_result a = drive(s, &s->bare, percent), b = drive(s, &s->limited, percent);
	uint32_t limit = adaptive_limit(&s->limit, SERVER_KEY, rl_now(s->limit.rl));
	double t = s->seconds;

	printf("%7.0f %7.0f %7.0f %5.0f %5.0f %7.0f %7.0f %6.0f %4.0f %5.0f %5u\n",
	       (double)b.sent / t, (double)a.served / t, (double)a.in_time / t, ms(a.p50_ns),
	       ms(a.p99_ns), (double)b.served / t, (double)b.in_time / t, (double)b.denied / t,
	       ms(b.p50_ns), ms(b.p99_ns), limit);
	if (b.lost > 0)
		fprintf(stderr, "overload: %zu requests were not answered\n", b.lost);
	return b.lost > 0 || b.served + b.denied != b.sent;
}

static int
stop(struct stage *s)
{
	struct rl_result r;

	rl_peek(s->limit.rl, s->limit.rule, SERVER_KEY, strlen(SERVER_KEY), &r);
	printf("\nin flight at the end: %u\n", r.used);
	server_stop(&s->bare);
	server_stop(&s->limited);
	rl_close(s->limit.rl);
	return r.used > 0;
}

int
main(int argc, char **argv)
{
	static struct stage s;
	int failed = 0;

	s.seconds = argc > 3 ? atof(argv[2]) : 0;
	for (int i = 3; i < argc; i++)
		if (atof(argv[i]) <= 0)
			s.seconds = 0;
	if (s.seconds <= 0) {
		fprintf(stderr, "usage: overload SEGMENT SECONDS PERCENT...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	start(&s, argv[1]);
	print_head();
	for (int i = 3; i < argc; i++)
		failed |= compare(&s, atof(argv[i]));
	return failed | stop(&s);
}
